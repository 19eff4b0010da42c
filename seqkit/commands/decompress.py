"""`decompress`: the file that `compress` was given."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from seqkit.commands.compress import result_file, source_of, unit_of
from seqkit.compression.compress import Predictor, decompress
from seqkit.compression.container import Reader
from seqkit.compression.fresh import Fresh
from seqkit.config import Config
from seqkit.data import files
from seqkit.data.codecs import Codec
from seqkit.data.sound import writer
from seqkit.foundation import device, disk, machine
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.disk import OutputFile
from seqkit.foundation.errors import CheckpointError, ConfigError, OutputError
from seqkit.foundation.stdout import Product
from seqkit.runs.named_checkpoint import load_checkpoint


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Write to `out` what `data.path` was made from: the very bytes, or a WAV of the symbols.

    Nothing stands under that name, or on stdout, before the checksum has agreed.
    """
    out = result_file(config)
    path = source_of(config, console)
    with path.open("rb") as stream:
        packed = Reader(stream, str(path))
        with machine.memory_errors("Try it when more memory is free."):
            predictor = _predictor(config, packed, catalogue, console)
            codec, size, began = predictor.codec, packed.header.size, time.monotonic()
            if codec.kind == "audio" and out and out.suffix.lower() != ".wav":
                raise ConfigError(f"out={out}: sound is decompressed to a WAV: give out=NAME.wav")
            with console.progress("decompress", size, unit=unit_of(codec)) as bar:
                pieces = decompress(predictor, packed, bar.update)
                _save(out, codec, size, pieces, config.overwrite)
    seconds = time.monotonic() - began
    outcome = f"{size:,} {unit_of(codec)} in {seconds:.1f} s"
    console.notice(f"written: {out or 'stdout'}: {outcome}")


def _predictor(
    config: Config, packed: Reader, catalogue: Catalogue, console: Console
) -> Predictor | Fresh:
    """What predicts the file, on its device."""
    if Fresh.made(packed.header):
        return Fresh(packed.header.model)
    saved = load_checkpoint(config.checkpoint, catalogue, console)
    return Predictor(saved.build(_device(config, packed)), saved.codec)


def _device(config: Config, packed: Reader) -> torch.device:
    """The device on which the file was compressed, or `device`. Raises as `choose_device`."""
    wanted = packed.header.device_type if config.device == "auto" else config.device
    if config.device == "auto" and wanted == "cuda" and not torch.cuda.is_available():
        raise CheckpointError(
            f"{packed.name}: compressed on {packed.header.machine}: this machine has no GPU"
        )
    return device.choose_device(wanted)


def _save(
    out: Path | None, codec: Codec, size: int, pieces: Iterator[Any], overwrite: bool
) -> None:
    """Write the original piece by piece, of `size` bytes or samples; it appears as a whole."""
    size *= 2 if codec.kind == "audio" else 1
    if out:
        with disk.atomic_write(out, overwrite, size) as stream:
            _write(stream, codec, pieces)
        return
    with disk.scratch(disk.cache_dir() / "decompressed" / "stdout", size) as (stream, kept):
        _write(stream, codec, pieces)
        stream.flush()
        product = Product()
        for block in files.blocks(kept):
            product.write(block)
        product.end()


def _write(stream: OutputFile, codec: Codec, pieces: Iterator[Any]) -> None:
    """Pieces become bytes, or the samples of a WAV, whose header comes last."""
    if codec.kind != "audio":
        for piece in pieces:
            stream.write(piece)
        return
    samples, read = 0, codec.reader()
    stream.write(writer.header(codec.sample_rate, codec.channels, samples))
    for symbols in pieces:
        frames = read(symbols)
        samples += frames.size
        if samples > writer.MOST_SAMPLES:
            raise OutputError(f"a WAV holds at most {writer.MOST_SAMPLES} samples")
        stream.write(writer.pcm16(frames))
    stream.seek(0)
    stream.write(writer.header(codec.sample_rate, codec.channels, samples))
