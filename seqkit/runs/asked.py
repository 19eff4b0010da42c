"""What the keys of generation ask for, as values: no file of generation knows a key."""

import dataclasses
import secrets
from typing import NamedTuple, TypedDict

import numpy as np

from seqkit.config import TEMPERATURE, ModelConfig, SampleConfig, SampleKeys, check_sample
from seqkit.data.codecs import Codec, Spectral
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import check_type, nearest
from seqkit.foundation.wording import unescaped
from seqkit.generation.generate import CHOICE, SHORTEST_LOOP
from seqkit.generation.medium import Medium, medium_of
from seqkit.generation.sampler import Ending, Prompt, Request, Sampling
from seqkit.symbols import SEEDS

_COLDEST = 1e-30  # a temperature below it is as good as 0, and its inverse no float32
_DOCUMENT = "document"


class Asked(NamedTuple):
    """A sample that keys ask for."""

    medium: Medium
    prompt: Prompt
    request: Request


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


def sample_keys(keys: GenerateKeys, streams: int) -> SampleKeys:
    """These keys, checked, and so many streams.

    Raises ConfigError: there is another among them; a value is of another type, or out of range.
    """
    if others := keys.keys() - GenerateKeys.__annotations__.keys():
        meant = nearest(min(others), [*GenerateKeys.__annotations__])
        if "streams" in others:
            meant = ": generate_many(STREAMS, …) makes several samples"
        raise ConfigError(f"{min(others)} is no argument of generate and stream{meant}")
    values = {name: value for name, value in keys.items() if value is not None}
    values |= {name: own.item() for name, own in values.items() if isinstance(own, np.generic)}
    check_type("sample", values.get("sample", SampleConfig()), SampleConfig)
    asked = SampleKeys(**values, streams=streams)  # type: ignore[arg-type]
    check_sample(asked)
    return asked


def asked_of(
    keys: SampleKeys,
    codec: Codec,
    model: ModelConfig,
    trained: Sampling | None = None,
    channel: str = "mix",
) -> Asked:
    """The sample that keys ask for; a seed that they do not give is drawn from the system.

    Keys that are not given are as samples of the training were drawn. Raises ConfigError where the
    model cannot make it.
    """
    medium = medium_of(codec, keys.loop)
    length = medium.length(keys.length, keys.seconds)
    extra = _extra(keys, codec, length)
    seed = secrets.randbelow(SEEDS) if keys.seed is None else keys.seed
    request = Request(
        length=length + extra,
        streams=max(keys.streams, keys.takes),
        takes=keys.takes,
        sampling=dataclasses.replace(sampling_of(keys, trained), seed=seed),
        seed_is_drawn=keys.seed is None,
        engine=keys.sample.engine,
        precision=keys.sample.precision,
        label=keys.label,
        label_strength=keys.label_strength,
        ending=_ending(keys, medium, model),
        extra=extra,
    )
    sources = keys.prompt, keys.prompt_file, keys.prompt_audio
    return Asked(medium, Prompt(*sources, keys.sample.unknown, channel), request)


def sampling_of(keys: SampleKeys, trained: Sampling | None = None) -> Sampling:
    """How keys draw; those that are not given as samples of a training do."""
    asked = {name: getattr(keys, name) for name in ("temperature", "top_k", "top_p")}
    given = {name: value for name, value in asked.items() if value is not None}
    sampling = dataclasses.replace(trained or Sampling(TEMPERATURE), **given)
    if sampling.temperature < _COLDEST:
        sampling = dataclasses.replace(sampling, temperature=0.0)
    return sampling


def _ending(keys: SampleKeys, medium: Medium, model: ModelConfig) -> Ending | None:
    r"""The ending that the key `until` names, in which \n, \t and \\ are read as in Python.

    A model that has learnt where documents end ends there, unless it has a length or `until`.

    Raises ConfigError: the model cannot write it, or has not learnt where documents end.
    """
    until, lasts = keys.until, bool(keys.length or keys.seconds or keys.loop)
    if until is None and not lasts and model.ends:
        until = _DOCUMENT
    if until is None:
        return None
    if until != _DOCUMENT:
        return Ending(tuple(medium.ending(unescaped(until)).tolist()))
    if not model.ends:
        raise ConfigError(
            "until=document: this model has not learnt where documents end: train it with "
            "model.ends=true, or fine-tune it so (init_from)"
        )
    return Ending((model.symbols,), is_document=True)


def _extra(keys: SampleKeys, codec: Codec, length: int) -> int:
    """Symbols that are made beyond a loop of `length`; 0 if none is asked for.

    Raises ConfigError: what is asked for cannot be a loop.
    """
    if not keys.loop:
        return 0
    if not isinstance(codec, Spectral):
        raise ConfigError("loop=true: only a model of data.codec=spectral, as my_sound's, loops")
    begins_with_prompt = keys.prompt_audio and keys.include_prompt
    too_short = length < SHORTEST_LOOP * codec.symbol_rate
    for is_there, fault in (
        (keys.until, "it lasts as long as seconds says: leave until out"),
        (begins_with_prompt, "a prompt is no part of a loop: give include_prompt=false"),
        (too_short, f"too short: give seconds={SHORTEST_LOOP:g} or more"),
    ):
        if is_there:
            raise ConfigError(f"loop=true: {fault}")
    return codec.symbols_of(CHOICE * codec.sample_rate)
