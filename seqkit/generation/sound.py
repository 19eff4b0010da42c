"""Generated sound: prompts, files, stdout; and loops, whose end meets their beginning."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from seqkit.data.codecs import Codec, Quantiser, SoundCodec, Spectral
from seqkit.data.sound import Frames, Wave, reader, writer
from seqkit.data.sound_encoder import SILENT
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.wording import counted
from seqkit.generation.request import Prompt
from seqkit.generation.sampler import ENDED, Blocks
from seqkit.symbols import Integers, Symbols, symbol_dtype

_SECONDS = 5.0  # by default
_NOTHING: Symbols = np.zeros(0, np.uint8)
_OVER = 1.001  # a size that counts as clipped; up to there it is the rounding of resampling
CHOICE = 2.0
"""Seconds that are made beyond a loop, from which its beginning is chosen."""
SHORTEST = 0.2
"""Seconds that a loop lasts at least."""
_SHORTER = 0.05  # seconds, and at most a tenth, that a loop may be shorter than asked
_SEEN = 3  # frames on each side of a seam that are compared


class Sound:
    """The medium of a codec of sound; see `medium.Text`."""

    printed = False
    suffix = ".wav"

    def __init__(self, codec: SoundCodec, loop: bool = False) -> None:
        """With `loop` the symbols of a sound come at once, and its end is what is before them."""
        self._codec = codec
        self._loop = loop
        self.header = writer.header(codec.sample_rate, codec.channels)
        self.glimpse = codec.symbols_of(codec.sample_rate)  # a second

    def length(self, length: int | None, seconds: float | None) -> int:
        """See Text. Frames are whole. Raises ConfigError for less than a sample."""
        rate = self._codec.sample_rate
        hop = self._codec.samples_of(self._codec.phases)
        samples = round((seconds or _SECONDS) * rate)
        if not length and samples < 1:
            raise ConfigError(f"seconds={seconds:g}: less than one sample at {rate} Hz")
        return length or -(-samples // hop) * self._codec.phases

    def encode(
        self,
        name: str,
        content: object,
        unknown: str = "error",
        notice: Callable[[str], None] = lambda text: None,
    ) -> Symbols:
        """See Text: a wave (N,) of floats at the model's sample rate, full scale being ±1.

        For stereo it may be (N, 2), too.
        """
        codec, wave = self._codec, np.asarray(content)
        shaped = wave.ndim == 1 or (codec.channels > 1 and wave.shape[1:] == (codec.channels,))
        if wave.dtype.kind != "f" or not shaped or not np.isfinite(wave.astype(np.float32)).all():
            shapes = "(N,)" if codec.channels == 1 else f"(N,) or (N, {codec.channels})"
            raise ConfigError(
                f"{name}: expected a wave {shapes} of finite floats, "
                f"got {type(content).__name__} with {wave.dtype} of {wave.shape}"
            )
        wave = wave.astype(np.float32)
        if isinstance(codec, Quantiser):
            size, full = np.abs(wave), 1 / codec.gain
            if clipped := int(np.count_nonzero(size > _OVER * full)):
                count, largest = counted(clipped, "sample"), f"{size.max():.3g}"
                notice(f"{name}: clipped {count} over {full:.3g}; the largest is {largest}")
        return codec.encode(wave)

    def decode(self, symbols: npt.ArrayLike) -> Wave | Frames:
        """See Text."""
        return np.concatenate([*self.decoded([symbols])])

    def decoded(self, pieces: Iterable[npt.ArrayLike]) -> Iterator[Wave | Frames]:
        """See Text."""
        for frames in self._read(pieces):
            yield frames if self._codec.channels > 1 else frames[:, 0]

    def read_prompt(self, prompt: Prompt, notice: Callable[[str], None]) -> Symbols:
        """See Text.

        Raises:
            ConfigError: a text.
            DataError: the recording cannot be read.
        """
        if prompt.text is not None or prompt.file is not None:
            raise ConfigError("this model makes sound: give prompt_audio=FILE instead of a text")
        if prompt.audio is None:
            return np.zeros(0, dtype=np.uint8)
        name = f"prompt_audio={prompt.audio}"
        recording, channels = reader.SoundReader(Path(prompt.audio)), self._codec.channels
        wave = np.concatenate([*recording.resampled(self._codec.sample_rate, channels)])
        if np.abs(wave).max(initial=0) < SILENT:
            notice(f"{name}: it is silent, as the mean of channels in antiphase is")
        return self.encode(name, wave if channels > 1 else wave[:, 0], notice=notice)

    def _reader(self) -> Callable[[npt.ArrayLike, bool], Frames]:
        """What reads the symbols of a sound piece by piece, and is told which is the last one."""
        if not self._loop:
            return self._codec.reader()
        codec, nothing = self._codec, np.zeros((0, self._codec.channels), np.float32)
        assert isinstance(codec, Spectral)
        return lambda symbols, last: nothing if last else codec.round_and_round(symbols)

    def _read(self, pieces: Iterable[npt.ArrayLike]) -> Iterator[Frames]:
        read = self._reader()
        yield from (read(symbols, False) for symbols in pieces)
        yield read(_NOTHING, True)

    def ending(self, text: str) -> Symbols:
        """See Text. Raises ConfigError."""
        raise ConfigError(
            f"until={text!r}: this model makes sound, which no text ends: give seconds, or "
            "until=document for a model that was trained with model.ends=true"
        )

    def check_files(self, files: list[Path]) -> None:
        """See Text. Raises ConfigError for what is not written so."""
        for file in files:
            if problem := writer.refusal(file, self._codec.sample_rate):
                raise ConfigError(f"{file}: {problem}")

    def rendered(self, pieces: Iterable[npt.ArrayLike]) -> Iterator[bytes]:
        """See Text: 16-bit samples."""
        return map(writer.pcm16, self._read(pieces))

    @contextmanager
    def open(self, file: Path, overwrite: bool) -> Iterator[Callable[[npt.ArrayLike], None]]:
        """See Text. A WAV is whole at every moment; the others are when they are closed.

        A file that is replaced stays until then. See `writer.create` for what a failure leaves.
        """
        codec, read = self._codec, self._reader()
        with writer.create(file, codec.sample_rate, overwrite, codec.channels) as output:
            yield lambda symbols: output.write(read(symbols, False))
            output.write(read(_NOTHING, True))

    def speed(self, rate: float, streams: int) -> str:
        """See Text."""
        times = rate / self._codec.symbol_rate
        return f"{times * self._codec.sample_rate:,.0f} samples/s, {times:.2f} x real time"

    def preview(self, symbols: npt.ArrayLike, file: Path) -> str:
        """See Text: the name of the file."""
        return str(file)


def looped(blocks: Blocks, codec: Codec, length: int) -> Blocks:
    """A loop of at most `length` symbols from each stream of blocks (N, S), as one block.

    More is made than is asked for, so that there is a choice of where the loop begins. Of all pairs
    of frames that lie as far apart as it lasts, or a little less, those are taken around which the
    sound differs the least to the ear: at rests, or where a note recurs. Where it is decoded, the
    end goes on into the beginning. The gains of that fade keep the level, however much the two are
    alike.
    """
    assert isinstance(codec, Spectral)
    held = [block.astype(symbol_dtype(codec.size)) for block in blocks]
    if held:
        loops = [_loop(stream, codec, length // codec.phases) for stream in np.concatenate(held).T]
        rows = np.full((max(map(len, loops)), len(loops)), ENDED)
        for stream, loop in enumerate(loops):
            rows[: len(loop), stream] = loop
        yield rows


def _loop(symbols: Integers, codec: Spectral, size: int) -> Integers:
    """A loop of about `size` frames from symbols (N,); all of them if they are too few."""
    shorter = min(round(_SHORTER * codec.sample_rate / codec.hop), size // 10)
    rows, best = codec.rows(symbols), (np.inf, 0, len(symbols))
    for count in range(size - shorter, size + 1):
        differing = np.square(rows[count:] - rows[: len(rows) - count]).sum(1)
        around = np.convolve(differing, np.ones(2 * _SEEN), "valid")
        if len(around) and around.min() < best[0]:
            begin = int(around.argmin()) + _SEEN
            best = float(around.min()), begin, begin + count
    return symbols[best[1] * codec.phases : best[2] * codec.phases]
