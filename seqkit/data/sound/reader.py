"""Files of sound, read in blocks, checked, and resampled."""

import contextlib
import functools
import io
import itertools
import math
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import soundfile

from seqkit.data import files
from seqkit.data.files import BadFileError
from seqkit.data.sound import Frames, Wave
from seqkit.data.sound.decoder import Decoder, Seekable, begins_as_sound, opened, saving
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.machine import shared_cores
from seqkit.foundation.wording import counted, first_of

SUFFIXES = (
    *(".wav", ".wave", ".flac", ".aif", ".aiff", ".aifc", ".au", ".mp3", ".mp2", ".ogg", ".oga"),
    *(".opus", ".m4a", ".m4b", ".m4r", ".aac", ".3gp", ".3ga", ".amr", ".wma", ".caf", ".wv"),
    *(".webm", ".weba", ".mka", ".mp4", ".mov", ".mts", ".m2ts", ".w64", ".rf64", ".voc", ".sph"),
    *(".tta", ".ac3", ".qta", ".3g2", ".vob", ".mpga", ".spx", ".amb", ".snd", ".awb", ".bwf"),
)
"""Endings of the files that are read as sound in a folder."""
FRAMES = 1 << 13
"""In a block; larger ones are faster, and fragment the process's memory."""
CHANNEL = re.compile(r"c0=c(\d+)")
"""The channel that a command of an oddity writes."""
TRACKS = "`ffmpeg -i FILE -map 0:a:1 NEW.wav` takes the second one"
_LOUDEST = 20.0  # times full scale
_FULL, _CLIPPED = 0.9999, 0.01  # of full scale, and of the samples: a sine there has 0.009
_LOUD, _ALIKE = 0.3, 0.2  # of full scale, and the correlation of two samples beside each other
_EVERY = 8  # blocks, of which one is measured
_SMALL = 1 / 16  # of full scale; of a sine 4 % of the samples are below
_NOTHING, _CANCELLED = 1e-5, 0.1  # of the mean power, where 1 is that of unlike channels
_OFFSET = 0.05  # of full scale
_SHORT = 0.25  # seconds by which a sound may be shorter than its header says
_LEAST_RATE = 1000  # hertz; resampling what says 1 Hz would make terabytes of megabytes
_ZEROS = 16  # zero crossings, on each side, of the sinc that resamples
_CORNER = 0.97  # of the lower Nyquist frequency
_LARGEST = 3000  # of the denominator of a ratio, which is rounded for odd rates


def is_sound(path: Path) -> bool:
    """Whether a file begins or opens as sound, whatever its name."""
    with contextlib.suppress(BadFileError):
        begins = path.is_file() and begins_as_sound(files.head(path))  # a pipe might never open
        return begins or bool(SoundReader(path).channels)
    return False


class SoundReader:
    """One file of sound, checked when it is opened and as it is read."""

    def __init__(self, path: Path, content: bytes | None = None, centred: bool = False) -> None:
        """Open a file, or what is called like one and is in memory. Raises BadFileError.

        `centred` takes the mean out of each channel, for which the file is read once more: some
        recorders add an offset, and nobody hears it.
        """
        self.path, self._content, self._centred = path, content, centred
        with self._sound() as sound:
            self.sample_rate, self.channels = sound.samplerate, sound.channels
            self.promised: int = sound.frames
            """How many frames the header says there are; 0 if it does not."""
        self.varies = False
        """Whether any frame, of those that were read, differs from the first one."""
        self.has_more = False
        """Whether other sound tracks than the first are in it, of what was read."""
        self._lost, self._sums = 0, np.zeros(6)
        self._powers = np.zeros(self.channels + 1)  # of each channel, and of their mean
        if self.sample_rate < _LEAST_RATE:
            fault = f"its header says {self.sample_rate} Hz: give it its true sample rate"
            raise BadFileError(path, fault)
        if not self.channels:
            raise BadFileError(path, "its header says that it has no channels")

    @property
    def oddities(self) -> list[str]:
        """What is not as one expects of a recording, of what was read of it.

        Bytes that are no samples are louder than most recordings, and either each is as far from
        the next as from any, or hardly one is near 0.
        """
        full, small, *sums = self._sums / max(self._sums[-1], 1)
        mean, power, product, _ = sums
        varies = power - mean * mean
        is_noise = product - mean * mean < _ALIKE * varies or max(small / 3, full) < _CLIPPED
        is_noise &= varies > _LOUD**2
        *powers, mixed = self._powers
        loudest, whole = int(np.argmax(powers)), sum(powers) / self.channels
        alone = f"`ffmpeg -i FILE -af 'pan=mono|c0=c{loudest}' NEW.wav`"
        found = {
            "whose samples look like no recording's, but like noise, a square wave, or bytes of "
            "another format than the header says (floats, DTS, AAC, another order): listen to "
            "them": is_noise,
            "with over 1 % of the samples at full scale or over: where that is clipping, the model "
            "learns it, too: record with less gain": full > _CLIPPED and not is_noise,
            f"with a silent channel: {alone} writes the loudest, to be read in its place": min(
                powers
            )
            < _NOTHING * whole,
            f"whose channels cancel each other in their mean: {alone} writes one": (
                mixed * self.channels < _CANCELLED * whole
            ),
            f"with an offset of {mean:.2g}: a high-pass filter takes it out": (
                abs(mean) > _OFFSET and not self._centred
            ),
            "with places that cannot be decoded, which are left out": self._lost,
            f"with several sound tracks, of which the first is read: {TRACKS}": self.has_more,
        }
        return [said for said, holds in found.items() if holds]

    @functools.cached_property
    def frames(self) -> int:
        """How many there are, counted if no header says it. Raises BadFileError."""
        return self.promised or sum(map(len, self._blocks()))

    @functools.cached_property
    def offset(self) -> Frames:
        """The mean of each channel (C,). Raises BadFileError."""
        sums, count = np.zeros(self.channels), 0
        for frames in self._blocks():
            sums, count = sums + frames.sum(0, dtype=float), count + len(frames)
        return (sums / count).astype(np.float32)

    def resampled(
        self, rate: int, channels: int = 1, channel: str = "mix", most: int = FRAMES
    ) -> Iterator[Frames]:
        """What `frames_of` gives, at a sample rate in hertz. Raises BadFileError."""
        blocks = self.frames_of(channels, channel, most)
        return resampled(blocks, self.sample_rate, rate, channels)

    def frames_of(
        self, channels: int = 1, channel: str = "mix", most: int = FRAMES
    ) -> Iterator[Frames]:
        """Blocks (n, C) of so many channels, n at `most`.

        Args:
            channels: C, 1 or 2; into both of stereo goes the one of a mono file.
            channel: which one is read where C is 1: its number from 0, or mix, the mean of all.
            most: frames in a block.

        Raises:
            BadFileError: no such channel, or more channels than are asked for in stereo; and as
                `all_channels`.
        """
        if channels == 1 < self.channels and channel != "mix" and int(channel) >= self.channels:
            fault = f"data.channel={channel}: it has {counted(self.channels, 'channel')}, from 0"
            raise BadFileError(self.path, fault)
        if self.channels > channels > 1:
            fault = f"data.channels={channels}: it has {self.channels} channels"
            raise BadFileError(self.path, f"{fault}: mix it down, or leave the key out")
        weights = np.full(self.channels, 1 / self.channels, np.float32)
        for frames in self.all_channels(most):
            if channels >= self.channels:
                yield np.repeat(frames, channels // self.channels, axis=1)
            elif channel == "mix":
                yield (frames @ weights)[:, None]
            else:
                yield frames[:, int(channel), None]

    def all_channels(self, most: int = FRAMES) -> Iterator[Frames]:
        """The samples of every channel in blocks (n, C), n at `most`.

        Raises:
            BadFileError: a sample that is not finite, or absurd, or fewer of them than the header
                promises.
        """
        blocks = self._blocks(most)
        return (frames - self.offset for frames in blocks) if self._centred else blocks

    def _blocks(self, most: int = FRAMES) -> Iterator[Frames]:
        read, first, powers = 0, None, np.zeros(self.channels + 1)
        self._sums, self._powers = np.zeros(6), powers
        with self._sound() as sound:
            for frames in sound.blocks(most, dtype="float32", always_2d=True):
                level = np.abs(frames)
                if not level.max(initial=0) <= _LOUDEST:  # nor is NaN
                    index, place = np.argwhere(~(level <= _LOUDEST))[0]
                    value, hint = frames[index, place], ""
                    fault = f"sample {read + index} is not finite ({value})"
                    if np.isfinite(value):
                        fault = f"sample {read + index} is {value:g}, and full scale is 1"
                        hint = "cut it out, or divide whole numbers by 32768"
                    raise BadFileError(self.path, fault, hint)
                first = frames[0] if read == 0 else first
                self.varies = self.varies or bool((frames != first).any())
                if read // most % _EVERY == 0:
                    self._measure(frames, level)
                read += len(frames)
                yield frames
            if isinstance(sound, Decoder):
                self._lost, self.has_more = sound.lost, sound.has_more
        if read == 0:
            raise BadFileError(self.path, "it holds no samples")
        if self.promised - read > _SHORT * self.sample_rate:
            fault = f"truncated: the header promises {self.promised} samples, {read} are there"
            raise BadFileError(self.path, fault, saving(self.path))

    def _measure(self, frames: Frames, level: Frames) -> None:
        """Add a block (n, C), of samples of these sizes, to the sums."""
        one, mixed = frames[:, 0], frames.mean(1)
        self._powers += np.append(np.square(frames).sum(0), mixed @ mixed)
        full, small = np.count_nonzero(level >= _FULL) / self.channels, level[:, 0] < _SMALL
        products = one @ one, one[1:] @ one[:-1]
        self._sums += np.array([full, np.count_nonzero(small), one.sum(), *products, len(one)])

    @contextlib.contextmanager
    def _sound(self) -> Iterator["soundfile.SoundFile | Decoder"]:
        """The file from its beginning. Raises BadFileError, also for what fails as it is read."""
        try:
            if self._content is None and not stat.S_ISREG(self.path.stat().st_mode):
                fault = "it is a folder" if self.path.is_dir() else "it is no file"
                raise BadFileError(self.path, fault)  # a pipe might never open
            raw = io.FileIO(self.path) if self._content is None else io.BytesIO(self._content)
            with Seekable(raw) as file:
                yield opened(self.path, file)
        except soundfile.SoundFileError as error:
            fault = f"truncated or damaged: {str(error).rstrip('.')}"
            raise BadFileError(self.path, fault, saving(self.path)) from error
        except OSError as error:
            raise BadFileError.of(self.path, error) from error


def oddity(said: str, paths: Sequence[str]) -> str:
    """What is said of some recordings, with a command that takes the first of them."""
    new = shlex.quote(disk.unused(f"_{Path(paths[0]).stem}.wav"))
    said = said.replace("FILE", shlex.quote(paths[0])).replace("NEW.wav", new)
    return f"{counted(len(paths), 'file')} ({first_of(paths)}) {said}"


def read_whole(path: Path, seconds: float | None = None) -> tuple[Wave, int]:
    """A file, or its first seconds, mixed to mono, and its sample rate. Raises BadFileError."""
    sound = SoundReader(path)
    most = None if seconds is None else int(seconds * sound.sample_rate)
    blocks = itertools.islice(sound.frames_of(), most and -(-most // FRAMES))
    return np.concatenate([*blocks])[:most, 0], sound.sample_rate


def resampled(
    blocks: Iterable[Frames], rate: int, new_rate: int, channels: int = 1
) -> Iterator[Frames]:
    """Frames that come in blocks (n, C), at another rate, both in hertz, by a sinc of torchaudio.

    They are those of the resampled whole, ceil(N * new_rate / rate), wherever it was cut. Only as
    many frames are kept as the filter is long. Raises ConfigError if torchaudio does not load.
    """
    ratio = Fraction(new_rate, rate).limit_denominator(_LARGEST)
    new_group, group = ratio.as_integer_ratio()  # frames that take the same time
    if new_group == group:
        yield from blocks
        return
    try:
        from torchaudio.transforms import Resample  # loads PyTorch
    except (ImportError, OSError, RuntimeError) as error:
        fault = f"{rate} Hz cannot become {new_rate} Hz: torchaudio does not load: {error}"
        raise ConfigError(fault) from error
    import torch

    convert = Resample(group, new_group, lowpass_filter_width=_ZEROS, rolloff=_CORNER)
    context = math.ceil(_ZEROS / (_CORNER * min(group, new_group)))  # groups on each side
    silence = np.zeros(((context + 1) * group, channels), np.float32)
    kept, read, made = silence[group:], 0, 0
    for block in itertools.chain(blocks, [None]):
        kept = np.concatenate([kept, silence if block is None else block])
        read += 0 if block is None else len(block)
        settled = max(len(kept) // group - 2 * context, 0)  # groups with all that is around them
        if settled:
            with shared_cores(exactly=1):  # more threads are slower on a busy machine
                new: Frames = convert(torch.from_numpy(kept.T.copy())).numpy().T
            new = new[context * new_group :][: settled * new_group]
            left = -(read * -new_group // group) - made if block is None else len(new)
            yield new[:left]
            made += len(new)
        kept = kept[settled * group :]
