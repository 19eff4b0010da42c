"""`generate`: a checkpoint continues a prompt."""

import dataclasses
import itertools
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seqkit import device
from seqkit.commands import material, outputs
from seqkit.commands.interrupts import on_signals
from seqkit.commands.outputs import Steps
from seqkit.config import Config, check
from seqkit.console import Console, Product
from seqkit.data.codecs import Codec, Quantiser
from seqkit.errors import ConfigError, StoppedError
from seqkit.generation import watch
from seqkit.generation.continuation import feed_prompt
from seqkit.generation.engine import generate_blocks
from seqkit.generation.engines.choose import choose_engine
from seqkit.generation.sampling import sampling_of
from seqkit.model.char_rnn import CharRNN
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.symbols import Symbols, symbol_dtype


def run(config: Config, console: Console) -> None:
    """Write the prompt and `length` new symbols to stdout, or to `out`.

    Several streams of text are printed one below the other, or written to numbered files. Sound
    without `out` goes to new files, whose names are printed.
    """

    came: list[str] = []

    def end(received: int) -> None:
        came.append(signal.Signals(received).name)
        if len(came) == 1:  # those that follow must not disturb the saving
            raise _Ended

    try:
        with on_signals(["SIGTERM", "SIGHUP"], end):
            _run(config, console)
    except _Ended as error:
        raise StoppedError(f"stopped by {came[0]}; what was made by then is kept") from error


class _Ended(KeyboardInterrupt):
    """A signal that asks for what Ctrl-C asks for."""


def _run(config: Config, console: Console) -> None:
    saved = material.load_checkpoint(config.checkpoint)
    config = _as_trained(config, saved)
    codec = saved.codec
    length = material.length(config, codec)
    prompt = material.read_prompt(config, codec)
    files = outputs.free_files(config)
    if isinstance(codec, Quantiser):
        outputs.check_sound(config, files, prompt.size + length)
    chosen = device.choose_device(config.device)
    advice = "Try fewer streams" + (", or device=cpu." if chosen.type == "cuda" else ".")
    with device.memory_errors(lambda: advice):
        steps = continue_prompt(saved.build(chosen), codec, prompt, config, length, console)
        if isinstance(codec, Quantiser):
            _sound(steps, codec, prompt, files, length, config, console)
        elif files:
            outputs.write_texts(steps, codec, prompt, files, length, console)
        elif config.streams == 1:
            outputs.print_text(steps, codec, prompt)
        else:
            outputs.print_blocks(steps, codec, prompt)


def _as_trained(config: Config, saved: Checkpoint) -> Config:
    """The keys of sampling that were not given as the training's own samples had them."""
    own: dict[str, Any] = {
        key: saved.config.get(key)
        for key in ("temperature", "top_k", "top_p")
        if getattr(config, key) is None
    }
    wanted = dataclasses.replace(config, **own)
    try:
        check(wanted)
    except (ConfigError, TypeError):
        return config  # no settings that this version knows
    return wanted


def continue_prompt(
    model: CharRNN, codec: Codec, prompt: Symbols, config: Config, length: int, console: Console
) -> Steps:
    """Yield the new symbols (S,) of all streams, one step after the other; sound is watched."""
    steps = _draw(model, codec, prompt, config, length, console.notice)
    if not isinstance(codec, Quantiser):
        return steps

    def again(heard: watch.Rows, stream: int, attempt: int) -> Steps:
        seed = watch.seed_of(config.seed, stream, attempt)
        alone = dataclasses.replace(config, streams=1, seed=seed)
        symbols = heard.astype(symbol_dtype(codec.size))
        return _draw(model, codec, symbols, alone, length, lambda said_before: None)

    return watch.watched(steps, again, codec, prompt, config.sample.retry, console.notice)


def _draw(
    model: CharRNN,
    codec: Codec,
    prompt: Symbols,
    config: Config,
    length: int,
    notice: Callable[[str], None],
) -> Steps:
    streams, settings = config.streams, config.sample
    engine = choose_engine(model, codec.size, streams, settings.engine, settings.precision, notice)
    logits, state = feed_prompt(model, codec.size, codec.start, prompt, streams)
    # What can fail has happened by now, before any file is opened.
    blocks = generate_blocks(engine, logits, state, length, sampling_of(config))
    return itertools.chain.from_iterable(blocks)


def _sound(
    steps: Steps,
    codec: Quantiser,
    prompt: Symbols,
    files: list[Path],
    length: int,
    config: Config,
    console: Console,
) -> None:
    if config.out == "-":
        outputs.stream_sound(steps, codec, prompt, length, console)
        return
    named = bool(files)
    if not named:
        folder = _samples(checkpoint.find(Path(config.checkpoint or "")))
        files = outputs.free_sounds(folder, config.streams)
    overwrite = named and config.overwrite
    outputs.write_sounds(steps, codec, prompt, files, length, console, overwrite)
    if not named:
        product = Product()
        product.write("".join(f"{file}\n" for file in files))
        product.flush()


def _samples(file: Path) -> Path:
    """The samples/ of the run that a checkpoint belongs to, or its own folder."""
    return file.parent.parent / "samples" if file.parent.name == "checkpoints" else file.parent
