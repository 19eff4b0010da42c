"""The commands, one file each: `run(keys, catalogue, console)`, thin over the API.

`keys` is the whole config, or a file's own `Keys`, which have the values of what it reads.
"""

import gc
import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType

_RULE = ("seed", "temperature", "top_k", "top_p")
_SAMPLING = (
    *_RULE,
    *("length", "prompt", "prompt_audio", "prompt_file", "sample", "seconds"),
)
_RUN = ("recipe", "run_dir", "runs", "resume", "init_from", "overwrite")
_OUTPUT = ("out", "overwrite")
_SWEEP = ("gpus", "jobs", "launcher")
_OF_RUN = {"run_dir": "the folder of a run"}


@dataclass(frozen=True)
class Command:
    """A verb: what it does, and what it reads: keys, and groups with all their keys.

    One that is `shared` runs in all processes that torchrun starts, others in the first alone.
    `example`: what follows the program's name in its --help's example.
    `meanings`: what its --help says of keys that mean less here than in general, or something else.
    """

    summary: str
    example: str
    reads: tuple[str, ...]
    shared: bool = False
    meanings: Mapping[str, str] = field(default_factory=dict)


COMMANDS = {
    "train": Command(
        "learn from text or sound and give a sample (the default)",
        "recipe=shakespeare data.path=my.txt run_dir=runs/a",
        (*_SAMPLING, *_RUN, *_SWEEP, "data", "device", "model", "optimizer", "train"),
        shared=True,
    ),
    "generate": Command(
        "let a checkpoint write text or make sound",
        "generate checkpoint=runs/a prompt=ROMEO: length=300",
        (
            *(*_SAMPLING, *_OUTPUT, "checkpoint", "device", "label", "label_strength"),
            *("include_prompt", "loop", "streams", "takes", "until"),
        ),
        meanings={
            "out": "the file for the text, or for the sound (.wav, .flac, .ogg, .mp3 or .aiff); "
            "- for stdout; with several streams NAME_1 and so on, or of documents a line for each",
        },
    ),
    "evaluate": Command(
        "measure how well a checkpoint predicts text or sound",
        "evaluate checkpoint=runs/a data.path=play.txt",
        (
            *_OUTPUT,
            *("checkpoint", "data", "device", "json", "part", "protocol"),
            "window",
            *(*_RULE, "length", "sample", "seconds"),
        ),
    ),
    "score": Command(
        "show which symbols surprise a checkpoint",
        "score checkpoint=runs/a data.path=play.txt out=a.html",
        (*_OUTPUT, "checkpoint", "data", "device", "part"),
        meanings={
            "out": "the file for the result, a page if it ends in .html; by default stdout",
        },
    ),
    "compare": Command(
        "show runs side by side, best first",
        "compare runs=runs",
        ("json", "runs"),
    ),
    "report": Command(
        "write the page that shows a run, report.html, anew",
        "report run_dir=runs/a",
        ("run_dir",),
        meanings=_OF_RUN,
    ),
    "doctor": Command(
        "look at data before a training, or at a run after it, and say what to do",
        "doctor data.path=my.txt",
        (*_OUTPUT, "data", "device", "json", "recipe", "run_dir", "train.max_minutes"),
        meanings=_OF_RUN,
    ),
    "inspect": Command(
        "show what a checkpoint holds",
        "inspect checkpoint=runs/a",
        ("checkpoint", "json"),
    ),
    "export": Command(
        "write a checkpoint as a page that runs it, or with 8-bit weights",
        "export checkpoint=runs/a out=a.html",
        (*_OUTPUT, "checkpoint"),
        meanings={
            "out": "the file: NAME.html for a page that runs the model in a browser, "
            "NAME.safetensors for 8-bit weights"
        },
    ),
    "play": Command(
        "open models to a browser and to plain HTTP, on this machine",
        "play checkpoint=etude",
        ("checkpoint", "device", "port", "runs", "sample"),
        meanings={
            "checkpoint": "offer this one alone, named as elsewhere; by default all runs in runs=, "
            "and the ready-made models",
        },
    ),
}
_EVERYWHERE = ("plugins", "quiet")


def reads(name: str, key: str) -> bool:
    """Whether a command reads a key."""
    read = (*COMMANDS[name].reads, *_EVERYWHERE)
    return key in read or key.partition(".")[0] in read


def load(name: str) -> ModuleType:
    """The file of a command. What needs PyTorch is imported only now."""
    first = "torch" not in sys.modules
    if first:
        gc.disable()  # it would look through what PyTorch makes again and again, and find nothing
    module = importlib.import_module(f"{__name__}.{name}")
    if first:
        gc.freeze()  # nor is there anything to find in it later
        gc.enable()
    return module
