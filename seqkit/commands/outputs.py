"""What generation is for: text and sound, on stdout as they are made, or in files."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from seqkit import disk
from seqkit.config import Config
from seqkit.console import Console, Product, to_bytes
from seqkit.data.codecs import Quantiser, TextCodec
from seqkit.data.sound import pictures, writer
from seqkit.errors import ConfigError, OutputError
from seqkit.symbols import Symbols

Steps = Iterator[npt.NDArray[np.int64]]
"""The symbols (S,) of all streams, one step after the other."""

_PIECES = 10  # in which a second of sound is written
_REPORT_EVERY = 50  # symbols, in the progress of text


def free_files(config: Config) -> list[Path]:
    """The files of `out`, one for each stream: NAME, or NAME_1 … NAME_S; none for stdout.

    Raises:
        ConfigError: `out` is no name of a file.
        OutputError: a file is there, or cannot be.
    """
    if config.out is None or config.out == "-":
        return []
    out = Path(config.out)
    if not out.name:
        raise ConfigError(f"out={config.out}: give the name of a file")
    files = numbered(out, config.streams)
    for file in files:
        if file.is_dir():
            raise OutputError(f"{file} is a folder: give the name of a file")
        if file.exists() and not config.overwrite:
            raise OutputError(f"{file} exists: give another out, or overwrite=true")
        if not file.parent.is_dir():
            raise OutputError(f"{file}: there is no folder {file.parent}")
    return files


def numbered(out: Path, streams: int) -> list[Path]:
    """`out` for one stream, else one name for each."""
    if streams == 1:
        return [out]
    digits = len(str(streams))
    return [out.with_stem(f"{out.stem}_{n:0{digits}}") for n in range(1, streams + 1)]


def print_text(steps: Steps, codec: TextCodec, prompt: Symbols) -> None:
    """Write the prompt and one stream to stdout as it is made."""
    product = Product()
    product.write(codec.decode(prompt))
    for symbols in steps:
        product.write(codec.decode(symbols))
    product.end()


def print_blocks(steps: Steps, codec: TextCodec, prompt: Symbols) -> None:
    """Write several streams to stdout, one below the other; on Ctrl-C as far as they came."""
    rows: list[npt.NDArray[np.int64]] = []
    try:
        rows.extend(steps)
    finally:
        product = Product()
        for index, symbols in enumerate(np.stack(rows, axis=1) if rows else ()):
            product.write("\n\n" if index else "")
            product.write(codec.decode(prompt))
            product.write(codec.decode(symbols))
        product.end()


def write_texts(
    steps: Steps,
    codec: TextCodec,
    prompt: Symbols,
    files: list[Path],
    length: int,
    console: Console,
) -> None:
    """Write each stream to its file when all are made; what is there when Ctrl-C comes is kept."""
    rows: list[npt.NDArray[np.int64]] = []
    interrupted, pace = None, _Pace()
    try:
        with console.progress("generate", length) as bar:
            for symbols in steps:
                rows.append(symbols)
                if len(rows) % _REPORT_EVERY == 0:
                    rate = pace.rate(len(rows) * len(symbols))
                    bar.update(len(rows), f"{rate:,.0f} symbols/s" if rate else "symbols")
    except KeyboardInterrupt as error:
        interrupted = error
    for stream, file in enumerate(files):
        with disk.atomic_write(file) as output:
            output.write(to_bytes(codec.decode(prompt)))
            output.write(to_bytes(codec.decode([row[stream] for row in rows])))
    speed = f"; {pace.last:,.0f} symbols/s" if pace.last else ""
    console.notice(f"written: {', '.join(map(str, files))}{speed}")
    if interrupted:
        raise interrupted


def check_sound(config: Config, files: list[Path], samples: int) -> None:
    """Refuse an `out` that so much sound cannot go to, before any is made. Raises ConfigError."""
    for file in files:
        if file.suffix.lower() == ".wav" and samples > writer.MOST_SAMPLES:
            raise ConfigError(
                f"a WAV holds at most {writer.MOST_SAMPLES} samples, not {samples}: "
                "give out=NAME.flac, or out=-"
            )
        if file.suffix.lower() not in writer.WRITTEN:
            raise ConfigError(f"out={config.out}: sound is written as {', '.join(writer.WRITTEN)}")
    if config.out == "-" and config.streams > 1:
        raise ConfigError("out=-: stdout takes one stream; give out=NAME.wav")
    if config.out == "-" and Product().terminal:
        raise ConfigError("out=-: a terminal cannot play sound; pipe it on, or give out=NAME.wav")


def free_sounds(folder: Path, streams: int) -> list[Path]:
    """New files generated_N.wav in a folder, which is made."""
    try:
        disk.make_folder(folder)
        number = 1
        while any(folder.glob(f"generated_{number}[._]*")):
            number += 1
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {disk.describe(error)}") from error
    return numbered(folder / f"generated_{number}.wav", streams)


def write_sounds(
    steps: Steps,
    codec: Quantiser,
    prompt: Symbols,
    files: list[Path],
    length: int,
    console: Console,
    overwrite: bool = False,
) -> None:
    """Write each stream to its file while it is made, the prompt's own sound first.

    A WAV is whole at every moment; FLAC and OGG are when this returns or is interrupted.
    """
    writers: list[writer.Writer] = []
    try:
        writers.extend(writer.create(file, codec.sample_rate, overwrite) for file in files)
        if prompt.size:
            for output in writers:
                output.write(codec.decode(prompt))

        def write(symbols: npt.NDArray[np.int64]) -> None:
            for stream, output in enumerate(writers):
                output.write(codec.decode(symbols[:, stream]))

        _in_pieces(steps, codec, write, length, console)
    finally:
        for output in writers:
            output.close()
        if len(writers) == len(files):
            console.notice(f"written: {', '.join(map(str, files))}")


def stream_sound(
    steps: Steps, codec: Quantiser, prompt: Symbols, length: int, console: Console
) -> None:
    """Write one stream to stdout as a WAV of open length, while it is made."""
    product = Product()
    product.write(writer.open_header(codec.sample_rate))
    product.write(writer.pcm16(codec.decode(prompt)))
    product.flush()

    def write(symbols: npt.NDArray[np.int64]) -> None:
        product.write(writer.pcm16(codec.decode(symbols[:, 0])))
        product.flush()

    _in_pieces(steps, codec, write, length, console)


def keep_sound(steps: Steps, codec: Quantiser, prompt: Symbols, file: Path) -> None:
    """One stream as a WAV, whole or absent, with a picture of it beside it."""
    symbols = np.concatenate([prompt.astype(np.int64), *steps])
    wave = codec.decode(symbols)
    output = writer.create(file, codec.sample_rate, overwrite=True)
    output.write(wave)
    output.close()
    pictures.draw(file.with_suffix(".png"), {file.name: wave}, codec.sample_rate)


def _in_pieces(
    steps: Steps,
    codec: Quantiser,
    write: Callable[[npt.NDArray[np.int64]], None],
    length: int,
    console: Console,
) -> None:
    """Hand symbols (n, S) on, a fraction of a second at a time; what was begun goes on, too."""
    rows: list[npt.NDArray[np.int64]] = []
    done, pace = 0, _Pace()

    def told() -> str:
        return f"{pace.last:,.0f} samples/s, {pace.last / codec.sample_rate:.2f} x real time"

    try:
        with console.progress("generate", length) as bar:
            for symbols in steps:
                rows.append(symbols)
                if len(rows) * _PIECES >= codec.sample_rate:
                    block = np.stack(rows)
                    rows.clear()  # whatever happens now, nothing is written twice
                    write(block)
                    done += len(block)
                    bar.update(done, told() if pace.rate(done) else "samples")
    finally:
        if rows:
            write(np.stack(rows))
        if pace.last:
            console.notice(f"generated at {told()}")


class _Pace:
    """How many symbols a second, the first report left out: what is set up counts as no speed."""

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None
        self.last = 0.0

    def rate(self, done: int) -> float:
        """The rate by now; 0 at the first report."""
        now = time.monotonic()
        if self._first is None:
            self._first = (done, now)
        else:
            self.last = (done - self._first[0]) / max(now - self._first[1], 1e-9)
        return self.last
