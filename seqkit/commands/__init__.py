"""The commands, one file each: `run(config, catalogue, console)`, thin over the API."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqkit.config import Config
    from seqkit.console import Console
    from seqkit.plugins import Catalogue

_RULE = ("seed", "temperature", "top_k", "top_p")
_SAMPLING = (
    *_RULE,
    *("length", "prompt", "prompt_audio", "prompt_file", "sample", "seconds"),
)
_RUN = ("recipe", "run_dir", "runs", "resume", "init_from", "overwrite")
_OUTPUT = ("out", "overwrite")
_SWEEP = ("gpus", "jobs", "launcher", "search")
_PROMPTS = ("prompt_file", "prompt_audio")
_PREDICTED = ("out", "checkpoint", "data.path")
_PACKING = (*_OUTPUT, "checkpoint", "data.path", "device", "learn")


@dataclass(frozen=True)
class Command:
    """A verb: what it does, and what it reads: keys, and groups with all their keys.

    One that is `shared` runs in all processes that torchrun starts, others in the first alone.
    `needs`: keys whose files are looked for before it starts, by `named`.
    """

    summary: str
    reads: tuple[str, ...]
    shared: bool = False
    needs: tuple[str, ...] = ()


COMMANDS = {
    "train": Command(
        "learn from text or sound and give a sample (the default)",
        (*_SAMPLING, *_RUN, *_SWEEP, "data", "device", "log", "model", "optimizer", "train"),
        shared=True,
        needs=("init_from", "data.path", *_PROMPTS),
    ),
    "generate": Command(
        "let a checkpoint write text or make sound",
        (*_SAMPLING, *_OUTPUT, "checkpoint", "device", "streams"),
        needs=("out", "checkpoint", *_PROMPTS),
    ),
    "evaluate": Command(
        "measure how well a checkpoint predicts text or sound",
        (
            *_OUTPUT,
            *("checkpoint", "data", "device", "dynamic", "json", "part", "protocol", "window"),
            *(*_RULE, "length", "sample", "seconds"),
        ),
        shared=True,
        needs=_PREDICTED,
    ),
    "score": Command(
        "show which symbols surprise a checkpoint, and what its cells follow",
        (*_OUTPUT, "checkpoint", "data", "device", "neuron", "part"),
        needs=_PREDICTED,
    ),
    "compare": Command(
        "show runs side by side, best first, and draw their learning curves",
        (*_OUTPUT, "json", "runs"),
        needs=("out", "runs"),
    ),
    "compress": Command(
        "make a file small with a checkpoint that predicts it",
        (*_PACKING, "data.channel", "dynamic"),
        needs=_PREDICTED,
    ),
    "decompress": Command("give back the file that compress was given", _PACKING, needs=_PREDICTED),
    "prepare": Command(
        "turn text or sound of any size into shards, which train reads",
        (*_OUTPUT, "data", "recipe"),
        needs=("data.path",),
    ),
    "report": Command(
        "write the page that shows a run, report.html, anew", ("run_dir",), needs=("run_dir",)
    ),
    "doctor": Command(
        "look at data before a training, or at a run after it, and say what to do",
        (*_OUTPUT, "data", "device", "json", "recipe", "run_dir", "train.max_minutes"),
        needs=("out", "data.path", "run_dir"),
    ),
    "inspect": Command(
        "show what a checkpoint holds", ("checkpoint", "json"), needs=("checkpoint",)
    ),
    "export": Command(
        "write a checkpoint's network as an ONNX model",
        (*_OUTPUT, "checkpoint"),
        needs=("out", "checkpoint"),
    ),
    "bench": Command(
        "time training or generation at a shape, beside other ways to do it",
        (
            *_RULE,
            *_OUTPUT,
            "device",
            "json",
            "length",
            "model",
            "optimizer",
            "shape",
            "streams",
            "train",
        ),
        needs=("out",),
    ),
}
_EVERYWHERE = ("plugins", "quiet")


def reads(name: str, key: str) -> bool:
    """Whether a command reads a key."""
    read = (*COMMANDS[name].reads, *_EVERYWHERE)
    return key in read or key.partition(".")[0] in read


def load(name: str) -> "Callable[[Config, Catalogue, Console], None]":
    """The function that runs a command. What needs PyTorch is imported only now."""
    run: Callable[[Config, Catalogue, Console], None]
    run = importlib.import_module(f"{__name__}.{name}").run
    return run
