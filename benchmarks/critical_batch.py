"""How many steps a training takes to a loss, by the number of lanes: the critical batch size.

    python benchmarks/critical_batch.py data.path=novel.txt > found.jsonl
    python benchmarks/critical_batch.py fit < found.jsonl

The first trains a model of the shape `text` (keys as of `train` make it another) at each of
`lanes=16,64,256,1024,4096`, with the learning rate that is the fastest for it, until it predicts
the validation part at the last of `targets=1.8,1.6` (nats a symbol), and prints a line of JSON for
each. No training begins after `seconds=200`. `share=0/4` takes every fourth B, from the first:
four such runs share the work out over four GPUs. The second fits

    S = S_min (1 + B_crit / B)

to the steps S, by least squares of log S (McCandlish et al., "An empirical model of large-batch
training", 2018): with B_crit lanes a training takes twice the fewest steps, and reads twice the
fewest symbols.
"""

import json
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from seqkit import compose
from seqkit.config import Config
from seqkit.data.corpus import Corpus
from seqkit.data.lanes import Lanes
from seqkit.data.load import load_corpus
from seqkit.foundation import device
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError, DivergedError, SeqkitError
from seqkit.foundation.ranks import Session
from seqkit.model.char_rnn import CharRNN
from seqkit.stages.network import choose_execution, task_of
from seqkit.training.events import Validated
from seqkit.training.step import Plan
from seqkit.training.trainer import Trainer

DEFAULTS = {"lanes": "16,64,256,1024,4096", "targets": "1.8,1.6", "seconds": "200", "share": "0/1"}
MODEL = (
    *("recipe=text_large", "model.num_layers=2", "model.hidden_size=512", "model.input=one_hot"),
    *("model.input_dropout=0", "model.dropout=0", "model.output_dropout=0", "model.weight_drop=0"),
    *("model.skip_connections=false", "train.average=0", "train.calibrate=false"),
    *("train.reset_state=0", "train.sequence_length=64", "optimizer.weight_decay=0"),
    *("data.split=[0.97,0.03,0.0]", "optimizer.warmup_steps=50", "train.max_steps=30000"),
)
FIRST_RATE = 0.002
_ENOUGH = 0.9  # of the lanes that were asked for
_FINEST, _VALIDATED = 10, 1600  # steps between validations: at least, and lanes times steps


def curve(config: Config, corpus: Corpus, target: float, until: float) -> list[tuple[int, float]]:
    """Steps and losses of a training until it is at the target, or gives up.

    It does at train.max_steps, when it diverges, and at the time `until`.
    """
    chosen, train = torch.device(device.find_device(config.device, for_all=True)), config.train
    training, validation, _ = corpus.split(config.data.split)
    lanes = Lanes(
        training,
        corpus.codec.start,
        train.batch_size,
        train.sequence_length,
        shift_seed=config.fixed_seed,
    )
    if lanes.batch_size < _ENOUGH * train.batch_size:  # the last lanes may be empty
        raise ConfigError(f"the text is too short for {train.batch_size} lanes")
    config.model.vocabulary_size = corpus.codec.size
    model = CharRNN(config.model, torch.Generator().manual_seed(config.fixed_seed)).to(chosen)
    precisions = device.candidate_precisions(train.precision, chosen)
    execution = choose_execution(task_of(model, lanes), precisions)
    plan = Plan(config.optimizer, train, config.fixed_seed, execution)
    trainer = Trainer(model, lanes, validation, plan)
    trainer.prepare()
    found: list[tuple[int, float]] = []
    try:
        for event in trainer.run():
            if isinstance(event, Validated):
                found.append((event.step, event.loss))
                if event.loss <= target or time.monotonic() > until:
                    break
    except DivergedError:
        pass
    return found


def steps_to(found: Sequence[tuple[int, float]], target: float) -> float | None:
    """At which step a curve comes to a loss, between two validations in a straight line."""
    before = (0, math.inf)
    for step, loss in found:
        if loss <= target:
            if not math.isfinite(before[1]):
                return float(step)
            share = (before[1] - target) / (before[1] - loss)
            return before[0] + share * (step - before[0])
        before = (step, loss)
    return None


def fastest(
    keys: Sequence[str], lanes: int, targets: Sequence[float], rate: float, until: float
) -> dict[str, Any]:
    """The fewest steps of any rate: from the one given up, then down, by factors of two."""
    every = max(_FINEST, _VALIDATED // lanes)
    best: dict[str, Any] = {"lanes": lanes, "steps": None, "rate": rate, "tried": []}
    common = [*MODEL, *keys, f"train.batch_size={lanes}", f"train.validate_every={every}"]
    symbols = lanes * compose.compose(common, []).train.sequence_length
    for factor in (2.0, 0.5):
        tried = rate if factor == 2.0 else rate / 2
        while time.monotonic() < until:
            limit = [f"train.max_steps={math.ceil(best['steps'][-1])}"] if best["steps"] else []
            config = compose.compose([*common, *limit, f"optimizer.lr={tried}"], [])
            corpus = load_corpus(config.data, Session(Catalogue(), _say))
            found = curve(config, corpus, targets[-1], until)
            steps = steps_to(found, targets[-1])
            best["tried"].append([tried, steps])
            _say(f"{lanes} lanes, rate {tried:g}: {steps} steps")
            if steps is None or (best["steps"] and steps >= best["steps"][-1]):
                break
            best |= {"steps": [steps_to(found, own) for own in targets], "rate": tried}
            tried *= factor
    return best | {"targets": list(targets), "symbols_a_step": symbols}


def fitted(points: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """S_min and B_crit of points (B, S)."""
    b, s = np.array(sorted(points)).T
    candidates = np.geomspace(b.min() / 100, b.max() * 100, 4001)
    logs = np.log(s) - np.log1p(candidates[:, None] / b)
    middle = logs.mean(axis=1)
    best = int(np.argmin(((logs - middle[:, None]) ** 2).sum(axis=1)))
    return float(np.exp(middle[best])), float(candidates[best])


def table(lines: Iterable[str]) -> Iterator[str]:
    """For each target the steps by B, and the fit."""
    rows = sorted((json.loads(line) for line in lines), key=lambda row: int(row["lanes"]))
    rows = [row for row in rows if row["steps"]]
    if len(rows) < 3:
        raise ConfigError("a fit needs lines of three B at least that came to the target")
    for number, target in enumerate(rows[0]["targets"]):
        fewest, critical = fitted((row["lanes"], row["steps"][number]) for row in rows)
        length = rows[0]["symbols_a_step"] // rows[0]["lanes"]
        yield (
            f"to {target} nats: S_min {fewest:.0f} steps, B_crit {critical:.0f} lanes "
            f"({critical * length / 1000:.0f} thousand symbols)"
        )
        for row in rows:
            steps, lanes = row["steps"][number], row["lanes"]
            yield (
                f"  B {lanes:>5}  rate {row['rate']:g}  {steps:>8.0f} steps "
                f"(fit {fewest * (1 + critical / lanes):.0f})  "
                f"{steps * row['symbols_a_step'] / 1e6:.1f} million symbols"
            )


def measure(arguments: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The fastest training for each B of this share."""
    own = DEFAULTS | dict(a.split("=", 1) for a in arguments if a.partition("=")[0] in DEFAULTS)
    keys = [a for a in arguments if a.partition("=")[0] not in DEFAULTS]
    first, of = map(int, own["share"].split("/"))
    targets = sorted(map(float, own["targets"].split(",")), reverse=True)
    until, rate = time.monotonic() + float(own["seconds"]), FIRST_RATE
    for lanes in list(map(int, own["lanes"].split(",")))[first::of]:
        found = fastest(keys, lanes, targets, rate, until)
        rate = found["rate"]
        yield found


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    try:
        if sys.argv[1:] == ["fit"]:
            for text in table(sys.stdin):
                print(text)
        else:
            for line in measure(sys.argv[1:]):
                print(json.dumps(line), flush=True)
    except SeqkitError as error:
        print(f"critical_batch: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
