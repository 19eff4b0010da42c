"""The keys that calls of `generate` from Python take."""

from typing import TypedDict

from seqkit.config import Config, SampleConfig, check, taken
from seqkit.foundation.settings import check_type, nearest
from seqkit.runs.asked import SampleKeys


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
    config = Config(**values, streams=streams)  # type: ignore[arg-type]
    check(config)
    return taken(config, SampleKeys)
