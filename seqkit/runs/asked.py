"""What a config asks of generation, as values: no file of generation knows a config."""

import dataclasses
import secrets
from pathlib import Path
from typing import NamedTuple

from seqkit.config import TEMPERATURE, Config, ModelConfig
from seqkit.data.codecs import Codec, Spectral
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.randomness import SEEDS
from seqkit.foundation.wording import unescaped
from seqkit.generation import sound
from seqkit.generation.medium import Medium, medium_of
from seqkit.generation.request import Prompt, Request
from seqkit.generation.sampler import Ending
from seqkit.generation.sampling import Sampling

_COLDEST = 1e-30  # a temperature below it is as good as 0, and its inverse no float32
_DOCUMENT = "document"


class Asked(NamedTuple):
    """A sample that a config asks for."""

    medium: Medium
    prompt: Prompt
    request: Request


def asked_of(
    config: Config,
    codec: Codec,
    model: ModelConfig,
    newline: str = "keep",
    trained: Sampling | None = None,
) -> Asked:
    """The sample that a config asks for; a seed that it does not give is drawn from the system.

    Args:
        config: its keys of generation.
        codec: what the symbols stand for.
        model: the network.
        newline: how the prompt's line ends are read, as `data.newline` says.
        trained: how samples of the training were drawn, which holds for keys that are not given.

    Raises:
        ConfigError: the model cannot make it.
    """
    medium = medium_of(codec, newline, config.loop)
    length = medium.length(config.length, config.seconds)
    extra = _extra(config, codec, length)
    seed = secrets.randbelow(SEEDS) if config.seed is None else config.seed
    request = Request(
        length=length + extra,
        streams=max(config.streams, config.takes),
        takes=config.takes,
        sampling=dataclasses.replace(sampling_of(config, trained), seed=seed),
        seed_is_drawn=config.seed is None,
        engine=config.sample.engine,
        precision=config.sample.precision,
        label=config.label,
        label_strength=config.label_strength,
        ending=_ending(config, medium, model),
        extra=extra,
        novel=config.sample.novel,
    )
    sources = config.prompt, config.prompt_file, config.prompt_audio
    return Asked(medium, Prompt(*sources, unknown=config.sample.unknown), request)


def sampling_of(config: Config, trained: Sampling | None = None) -> Sampling:
    """How the keys of a config draw, those that are not given as samples of a training do."""
    keys = ("temperature", "top_k", "top_p")
    given = {key: getattr(config, key) for key in keys if getattr(config, key) is not None}
    sampling = dataclasses.replace(trained or Sampling(TEMPERATURE), **given)
    if sampling.temperature < _COLDEST:
        sampling = dataclasses.replace(sampling, temperature=0.0)
    return sampling


def _ending(config: Config, medium: Medium, model: ModelConfig) -> Ending | None:
    r"""The ending that the key `until` names, in which \n, \t and \\ are read as in Python.

    A model that has learnt where documents end ends there, unless it has a length or `until`.

    Raises:
        ConfigError: the model cannot write it, or has not learnt where documents end.
    """
    until, lasts = config.until, bool(config.length or config.seconds or config.loop)
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


def _extra(config: Config, codec: Codec, length: int) -> int:
    """Symbols that are made beyond a loop of `length`; 0 if none is asked for.

    Raises:
        ConfigError: what is asked for cannot be a loop.
    """
    if not config.loop:
        return 0
    if not isinstance(codec, Spectral):
        raise ConfigError("loop=true: only a model of data.codec=spectral, as my_sound's, loops")
    begins_with_prompt = config.prompt_audio and config.include_prompt
    of_mp3 = Path(config.out or "").suffix.lower() == ".mp3"
    too_short = length < sound.SHORTEST * codec.symbol_rate
    for is_there, fault in (
        (config.until, "it lasts as long as seconds says: leave until out"),
        (begins_with_prompt, "a prompt is no part of a loop: give include_prompt=false"),
        (of_mp3, "an MP3 has silence at its ends: give a .wav, .flac or .ogg"),
        (too_short, f"too short: give seconds={sound.SHORTEST:g} or more"),
    ):
        if is_there:
            raise ConfigError(f"loop=true: {fault}")
    return codec.symbols_of(sound.CHOICE * codec.sample_rate)
