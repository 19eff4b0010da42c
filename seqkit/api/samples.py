"""What the model of a training makes of the prompt."""

import dataclasses
import math
import time
from pathlib import Path

from seqkit.api.prepare_training import Notice, Training
from seqkit.data.codecs import Quantiser
from seqkit.foundation.errors import SeqkitError
from seqkit.foundation.wording import counted
from seqkit.generation.continuation import continue_prompt
from seqkit.generation.engine import Blocks
from seqkit.generation.request import Request, request_of
from seqkit.model.char_rnn import CharRNN
from seqkit.report import page
from seqkit.runs.checkpoint import load as load_checkpoint
from seqkit.runs.events import Sampled
from seqkit.runs.layout import find_checkpoint
from seqkit.runs.observers import Pictures

_SHARE = 0.1  # of train.max_minutes, which the closing sample may take beyond it
_LEAST = 1.0  # seconds that it may take


def sample(training: Training, model: CharRNN, request: Request, notice: Notice) -> Blocks:
    """What a model of a training makes of the prompt: blocks (N, 1)."""
    alone = dataclasses.replace(request, streams=1)
    return continue_prompt(model, training.corpus.codec, training.prompt, alone, notice=notice)


def closing_sample(training: Training, notice: Notice) -> Blocks:
    """What the best checkpoint makes of the prompt: blocks (N, 1).

    They have the full length, or what a tenth of train.max_minutes suffices for.
    """
    best = load_checkpoint(find_checkpoint(training.folder.path), training.catalogue)
    request = request_of(training.config, training.length)
    blocks = sample(training, best.build(training.device), request, notice)
    return _in_time(blocks, training, notice) if training.config.train.max_minutes else blocks


def _in_time(blocks: Blocks, training: Training, notice: Notice) -> Blocks:
    """The blocks that come within the time that the closing sample may take, and at least two."""
    minutes, end, made = training.config.train.max_minutes, math.inf, 0
    for number, block in enumerate(blocks):
        if number == 1:  # the first symbol needs no step: by now the engine is set up
            end = time.monotonic() + max(60 * minutes * _SHARE, _LEAST)
        made += len(block)
        yield block
        if time.monotonic() > end and made < training.length:
            notice(
                f"the closing sample ends after {_amount(made, training)} of "
                f"{_amount(training.length, training)}: train.max_minutes={minutes:g} leaves no "
                "time for more, and generate makes more"
            )
            return


def _amount(symbols: int, training: Training) -> str:
    codec = training.corpus.codec
    if isinstance(codec, Quantiser):
        return f"{round(symbols / codec.symbol_rate, 2):g} s"
    return counted(symbols, "symbol")


def closing_file(training: Training) -> Path:
    """Where the closing sample goes if it is not printed. Raises OutputError as `check_own`."""
    training.folder.check_own()
    return training.folder.files.sample("final").with_suffix(training.medium.suffix)


def save_closing_sample(training: Training, notice: Notice) -> Path:
    """Write the closing sample, after its prompt, while it is made."""
    file = closing_file(training)
    with training.medium.open(file, overwrite=True) as write:
        write(training.prompt)
        for block in closing_sample(training, notice):
            write(block[:, 0])
    draw_closing_sample(training, notice)
    return file


def draw_closing_sample(training: Training, notice: Notice) -> None:
    """Draw it, if it is sound, and show it in the report."""
    if training.corpus.codec.kind == "audio":
        step = training.trainer.progress.step
        Pictures(notice)(Sampled(step, closing_file(training), ""))
        try:
            page.write(training.folder.path, "finished")
        except SeqkitError as error:
            notice(f"no report: {error}")
