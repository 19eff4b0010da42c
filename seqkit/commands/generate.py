"""`generate`: a checkpoint continues a prompt."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from seqkit import device, paths
from seqkit.codecs import Codec, Symbols
from seqkit.commands import material
from seqkit.config import Config
from seqkit.console import Console, Product, to_bytes
from seqkit.engines import choose
from seqkit.errors import ConfigError, OutputError
from seqkit.generation import Sampling, generate, read_prompt
from seqkit.model import CharRNN

Steps = Iterator[npt.NDArray[np.int64]]


def run(config: Config, console: Console) -> None:
    """Write the prompt and `length` new symbols to stdout, or to `out`.

    Several streams are printed one below the other, or written to numbered files.
    """
    saved = material.load_checkpoint(config.checkpoint)
    prompt = material.read_prompt(config, saved.codec)
    files = _free_files(config)
    chosen = device.choose(config.device)
    with device.memory_errors(lambda: "Try fewer streams, or device=cpu."):
        steps = continue_prompt(saved.build(chosen), saved.codec, prompt, config, console)
        if files:
            _write_files(steps, saved.codec, prompt, files, config, console)
        elif config.streams == 1:
            print_text(steps, saved.codec, prompt)
        else:
            _print_blocks(steps, saved.codec, prompt)


def continue_prompt(
    model: CharRNN, codec: Codec, prompt: Symbols, config: Config, console: Console
) -> Steps:
    """Yield the new symbols (S,) of all streams, one step after the other."""
    settings, streams = config.sample, config.streams
    engine = choose.choose(
        model, codec.size, streams, settings.engine, settings.precision, console.notice
    )
    sampling = Sampling(config.temperature, config.top_k, config.top_p, config.seed)
    logits, state = read_prompt(model, codec.size, codec.start, prompt, streams)
    for block in generate(engine, logits, state, config.length, sampling):
        yield from block


def print_text(steps: Steps, codec: Codec, prompt: Symbols) -> None:
    """Write the prompt and one stream to stdout as it is made."""
    product = Product()
    product.write(codec.decode(prompt))
    for symbols in steps:
        product.write(codec.decode(symbols))
    product.end()


def _print_blocks(steps: Steps, codec: Codec, prompt: Symbols) -> None:
    product = Product()
    for index, symbols in enumerate(np.stack(list(steps), axis=1)):
        product.write("\n\n" if index else "")
        product.write(codec.decode(prompt))
        product.write(codec.decode(symbols))
    product.end()


def _free_files(config: Config) -> list[Path]:
    """The files of `out`, one for each stream: NAME, or NAME_1 … NAME_S; none for stdout."""
    if config.out is None or config.out == "-":
        return []
    out = Path(config.out)
    if not out.name:
        raise ConfigError(f"out={config.out}: give the name of a file")
    files = [out]
    if config.streams > 1:
        digits = len(str(config.streams))
        files = [out.with_stem(f"{out.stem}_{n:0{digits}}") for n in range(1, config.streams + 1)]
    for file in files:
        if file.is_dir():
            raise OutputError(f"{file} is a folder: give the name of a file")
        if file.exists() and not config.overwrite:
            raise OutputError(f"{file} exists: give another out, or overwrite=true")
        if not file.parent.is_dir():
            raise OutputError(f"{file}: there is no folder {file.parent}")
    return files


def _write_files(
    steps: Steps, codec: Codec, prompt: Symbols, files: list[Path], config: Config, console: Console
) -> None:
    """Write each stream to its file when all are made; what is there when Ctrl-C comes is kept."""
    rows: list[npt.NDArray[np.int64]] = []
    interrupted = None
    try:
        with console.progress("generate", config.length) as bar:
            for symbols in steps:
                rows.append(symbols)
                bar.update(len(rows), "symbols")
    except KeyboardInterrupt as error:
        interrupted = error
    for stream, file in enumerate(files):
        with paths.atomic_write(file) as output:
            output.write(to_bytes(codec.decode(prompt)))
            output.write(to_bytes(codec.decode([row[stream] for row in rows])))
    console.notice(f"written: {', '.join(map(str, files))}")
    if interrupted:
        raise interrupted
