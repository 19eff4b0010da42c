"""The keys of `generate` that a call from Python takes."""

from typing import TypedDict

from seqkit.config import Config, SampleConfig, check
from seqkit.foundation.settings import check_type


class GenerateKeys(TypedDict, total=False):
    """How a prompt is continued; what is None, or left out, is as the training had it.

    Attributes:
        length: new symbols, 500 by default; of sound usually samples.
        seconds: of new sound, in place of `length`; 5 by default.
        temperature: divides the logits.
        top_k: draw among the k likeliest symbols only.
        top_p: draw among the likeliest symbols that make up this probability.
        seed: of the draws; by default a new one, which the logger `seqkit` is told.
        sample: the keys `sample.*`: engine, precision, unknown, retry.
    """

    length: int | None
    seconds: float | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    seed: int | None
    sample: SampleConfig | None


def config_of(keys: GenerateKeys) -> Config:
    """The config with these keys.

    Raises:
        TypeError: there is another among them.
        ConfigError: a value is of another type, or out of range.
    """
    if others := keys.keys() - GenerateKeys.__annotations__.keys():
        raise TypeError(f"{min(others)} is no argument of generate and stream")
    values = {name: value for name, value in keys.items() if value is not None}
    check_type("sample", values.get("sample", SampleConfig()), SampleConfig)
    config = Config(**values)  # type: ignore[arg-type]
    check(config)
    return config
