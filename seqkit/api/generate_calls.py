"""Calls of `generate` from Python: the keys that they take, and the engine that they share."""

import contextlib
import dataclasses
import logging
from collections.abc import Iterator
from typing import TypedDict

from seqkit.config import Config, SampleConfig, check
from seqkit.foundation.settings import check_type, nearest
from seqkit.generation.continuation import continue_prompt, engine_for, finish
from seqkit.generation.engine import Engine
from seqkit.generation.labelled import choose
from seqkit.generation.request import Request, Trained
from seqkit.model.arrays import NetworkArrays
from seqkit.model.state import State
from seqkit.symbols import Integers, Symbols

_LOG = logging.getLogger("seqkit")


class GenerateKeys(TypedDict, total=False):
    """How a prompt is continued; what is None, or left out, is as the training had it.

    Attributes:
        length: new symbols, 500 by default; of sound samples, or codes of frames.
        seconds: of new sound, in place of `length`; 5 by default.
        until: a text that ends what is new, or document for where the model ends its document.
        temperature: divides the logits.
        top_k: draw among the k likeliest symbols only.
        top_p: draw among the likeliest symbols that make up this probability.
        label: of a model that learnt labels; what is not given is drawn.
        label_strength: how much it counts, 1 by default.
        include_prompt: whether the result begins with the prompt, as it does by default.
        seed: of the draws; by default a new one, which the logger `seqkit` is told.
        sample: the keys `sample.*`: engine, precision, unknown.
    """

    length: int | None
    seconds: float | None
    until: str | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    label: str | None
    label_strength: float | None
    include_prompt: bool | None
    seed: int | None
    sample: SampleConfig | None


def config_of(keys: GenerateKeys) -> Config:
    """The config with these keys.

    Raises:
        TypeError: there is another among them.
        ConfigError: a value is of another type, or out of range.
    """
    if others := keys.keys() - GenerateKeys.__annotations__.keys():
        meant = nearest(min(others), [*GenerateKeys.__annotations__])
        if "streams" in others:
            meant = ": generate_many(STREAMS, …) makes several samples"
        raise TypeError(f"{min(others)} is no argument of generate and stream{meant}")
    values = {name: value for name, value in keys.items() if value is not None}
    check_type("sample", values.get("sample", SampleConfig()), SampleConfig)
    config = Config(**values)  # type: ignore[arg-type]
    check(config)
    return config


def left_out(keys: GenerateKeys) -> int:
    """How many pieces, a prompt and what follows it, are no part of the result: 0 or 1."""
    return int(keys.get("include_prompt") is False)


class KeptEngine:
    """The engine of the last call, which the next one takes if it fits: a new one takes time."""

    def __init__(self) -> None:
        self._kept: tuple[object, Engine] | None = None
        """What it fits, and itself, unless something uses it."""

    def blocks(
        self, trained: Trained, prompt: Symbols, request: Request, begin: tuple[State, int]
    ) -> Iterator[Integers]:
        """What follows a prompt, in blocks (N, S): see `continue_prompt`.

        `trained` is always the same, but its network may be a module.
        Nothing else uses the engine until the last block, or until they are closed.
        """
        choice = None
        if trained.labels is not None:
            choice = choose(trained.labels, request.label, request.streams, request.sampling.seed)
        # It depends on the request but for its draws, on the labels, and on weights that it copied.
        weights, network = list[tuple[int, int]](), trained.model
        if not isinstance(network, NetworkArrays):
            weights = [(each.data_ptr(), each._version) for each in network.parameters()]
        size, labels = request.size(trained.codec), choice and choice.weights.tolist()
        sampling = dataclasses.replace(request.sampling, seed=0)
        usual = dataclasses.replace(request, length=1, sampling=sampling, label=None)
        usual = dataclasses.replace(usual, ending=None, seed_is_drawn=False)
        key, kept = (usual, size, labels, weights), self._kept
        self._kept = None
        if kept is None or kept[0] != key:
            kept = None  # its memory first
            kept = key, engine_for(trained, request, choice, _LOG.info)
        blocks = continue_prompt(
            trained, prompt, request, notice=_LOG.info, begin=begin, engine=kept[1]
        )
        return self._keeping(kept, finish(trained, request, prompt, blocks, notice=_LOG.info))

    def _keeping(
        self, kept: tuple[object, Engine], blocks: Iterator[Integers]
    ) -> Iterator[Integers]:
        """Hand on blocks, and keep the engine that makes them after the last one."""
        with contextlib.suppress(GeneratorExit):
            yield from blocks
        self._kept = kept
