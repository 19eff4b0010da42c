"""`generate`: a checkpoint continues a prompt."""

import dataclasses
from pathlib import Path

from seqkit import checkpoint, device, guard
from seqkit.codecs import Codec, Quantiser, Symbols, symbol_dtype
from seqkit.commands import material, products
from seqkit.commands.products import Steps
from seqkit.config import Config
from seqkit.console import Console, Product
from seqkit.generation import Sampling, TorchEngine, generate
from seqkit.model import CharRNN


def run(config: Config, console: Console) -> None:
    """Write the prompt and `length` new symbols to stdout, or to `out`.

    Several streams of text are printed one below the other, or written to numbered files. Sound
    without `out` goes to new files, whose names are printed.
    """
    saved = material.load_checkpoint(config.checkpoint)
    codec = saved.codec
    length = material.length(config, codec)
    prompt = material.read_prompt(config, codec)
    files = products.free_files(config)
    if isinstance(codec, Quantiser):
        products.check_sound(config, files)
    chosen = device.choose(config.device)
    with device.memory_errors(lambda: "Try fewer streams, or device=cpu."):
        steps = continue_prompt(saved.build(chosen), codec, prompt, config, length, console)
        if isinstance(codec, Quantiser):
            _sound(steps, codec, prompt, files, length, config, console)
        elif files:
            products.write_texts(steps, codec, prompt, files, length, console)
        elif config.streams == 1:
            products.print_text(steps, codec, prompt)
        else:
            products.print_blocks(steps, codec, prompt)


def continue_prompt(
    model: CharRNN, codec: Codec, prompt: Symbols, config: Config, length: int, console: Console
) -> Steps:
    """Yield the new symbols (S,) of all streams, one step after the other; sound is watched."""
    steps = _draw(model, codec, prompt, config, length)
    if not isinstance(codec, Quantiser):
        return steps

    def again(heard: guard.Rows, stream: int, attempt: int) -> Steps:
        seed = guard.seed_of(config.seed, stream, attempt)
        alone = dataclasses.replace(config, streams=1, seed=seed)
        return _draw(model, codec, heard.astype(symbol_dtype(codec.size)), alone, length)

    return guard.watched(steps, again, codec, prompt, config.sample.retry, console.notice)


def _draw(model: CharRNN, codec: Codec, prompt: Symbols, config: Config, length: int) -> Steps:
    engine = TorchEngine(model, codec.size)
    sampling = Sampling(config.temperature, config.top_k, config.top_p, config.seed)
    logits, state = engine.read(codec.start, prompt, config.streams)
    yield from generate(engine, logits, state, length, sampling)


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
        products.stream_sound(steps, codec, prompt)
        return
    named = bool(files)
    if not named:
        folder = _samples(checkpoint.find(Path(config.checkpoint or "")))
        files = products.free_sounds(folder, config.streams)
    overwrite = named and config.overwrite
    products.write_sounds(steps, codec, prompt, files, length, console, overwrite)
    if not named:
        product = Product()
        product.write("".join(f"{file}\n" for file in files))
        product.flush()


def _samples(file: Path) -> Path:
    """The samples/ of the run that a checkpoint belongs to, or its own folder."""
    return file.parent.parent / "samples" if file.parent.name == "checkpoints" else file.parent
