"""`compress`: a file made small by a model that predicts it."""

import time
from collections.abc import Iterator
from pathlib import Path

from seqkit.commands import outputs
from seqkit.compression.compress import Predictor, compress
from seqkit.compression.fresh import Fresh
from seqkit.config import Config, DataConfig
from seqkit.data import file_search, files, remote
from seqkit.data.codecs import Bytes, Codec, Quantiser
from seqkit.data.sound.reader import SoundReader
from seqkit.foundation import device, disk, machine
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError
from seqkit.runs.named_checkpoint import load_checkpoint
from seqkit.symbols import Symbols


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Write `data.path` to `out`, compressed by the predictions of a checkpoint, or of none."""
    out = result_file(config)
    saved = load_checkpoint(config.checkpoint, catalogue, console) if config.checkpoint else None
    path = source_of(config, console)
    if not saved and config.device not in ("auto", "cpu"):
        raise ConfigError(f"device={config.device}: without a checkpoint only the CPU computes")
    if not saved and config.learn:
        raise ConfigError("learn=true: without a checkpoint it always learns: leave the key out")
    chosen = device.choose_device(config.device)
    codec = saved.codec if saved else Bytes()
    size, pieces = _pieces(path, codec, config.data.channel)
    if isinstance(codec, Quantiser):
        console.notice(
            f"the samples are kept as the model hears them, in {codec.levels} levels "
            f"at {codec.sample_rate} Hz: decompress makes a WAV of these, not the file itself"
        )
    began = time.monotonic()
    with (
        machine.memory_errors("Try device=cpu."),
        console.progress("compress", size, unit=unit_of(codec)) as bar,
        outputs.result_stream(out, overwrite=config.overwrite) as write,
    ):
        predictor = Predictor(saved.build(chosen), codec) if saved else Fresh.of(files.blocks(path))
        learn = config.dynamic if config.learn else None
        packed = compress(predictor, pieces, size, write, bar.update, learn)
    seconds = time.monotonic() - began
    if packed.left:
        console.notice(
            f"{packed.left:,} of {size:,} bytes were left to LZMA, which makes less of them than "
            "the model"
        )
    outcome = f"{size:,} {unit_of(codec)} in {packed.size:,} bytes"
    if size:
        outcome += f", {8 * packed.size / size:.3f} bits for each, in {seconds:.1f} s"
    console.notice(f"written: {out or 'stdout'}: {outcome}")


def result_file(config: Config) -> Path | None:
    """The file of `out`, None for stdout.

    Raises:
        ConfigError: no `out`, or no name of a file.
        OutputError: the file exists, or cannot be made.
    """
    if config.out is None:
        raise ConfigError("no out: give out=FILE, or out=- for stdout")
    return outputs.result_file(config)


def source_of(config: Config, console: Console) -> Path:
    """The one file of `data.path`, or what stdin held.

    Raises:
        ConfigError: none is given, or several.
        DataError: no file, or one that cannot be read.
    """
    if len(config.data.path) != 1:
        raise ConfigError("give one file as data.path=FILE, or data.path=- for stdin")
    data = DataConfig(path=config.data.path)
    (source,) = remote.localised(data, disk.cache_dir(), console.notice, console.progress).path
    path = Path(source)
    if file_search.is_folder(path):
        raise ConfigError(f"data.path={path}: a folder: give one file")
    return path


def unit_of(codec: Codec) -> str:
    """What the size of an original counts."""
    if isinstance(codec, Quantiser):
        return "samples" if codec.phases == 1 else "symbols"
    return "bytes"


def _pieces(
    path: Path, codec: Codec, channel: str
) -> tuple[int, Iterator[bytes] | Iterator[Symbols]]:
    """The size of a file in bytes, or in symbols at the model's rate, and its content."""
    if codec.kind != "audio":
        return path.stat().st_size, files.blocks(path)
    recording = SoundReader(path)
    blocks = recording.resampled(codec.sample_rate, codec.channels, channel)
    samples = -(-recording.frames * codec.sample_rate // recording.sample_rate)
    size = -(-samples // codec.bands) * codec.phases
    return size, map(codec.encoder(), codec.padded(blocks))
