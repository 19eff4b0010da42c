"""What a config asks of generation becomes values, or is refused in a line."""

from typing import Any

import numpy as np
import pytest

from seqkit.config import TEMPERATURE, ModelConfig, SampleConfig, SampleKeys
from seqkit.data.codecs import Bytes, Characters, Codec, MuLaw, Spectral
from seqkit.foundation.errors import ConfigError
from seqkit.generation.sampler import Ending, Prompt, Request, Sampling
from seqkit.runs.asked import asked_of, sampling_of

CODEC = Characters.fit(["abn\n\t\\"])
BARE = ModelConfig(vocabulary_size=6)
ENDS = ModelConfig(vocabulary_size=7, ends=True)
RATE = 8000


def ending_of(keys: SampleKeys, codec: Codec, model: ModelConfig) -> Ending | None:
    return asked_of(keys, codec, model).request.ending


def test_keys_become_values() -> None:
    sample = SampleConfig(engine="torch", precision="fp32", unknown="skip")
    config = SampleKeys(
        prompt_file="a", length=9, takes=3, top_k=5, seed=7, label="a", sample=sample
    )
    _, prompt, request = asked_of(config, CODEC, BARE, trained=Sampling(0.5, top_k=2, top_p=0.9))
    assert prompt == Prompt(file="a", unknown="skip")
    given = {"engine": "torch", "precision": "fp32", "label": "a"}
    assert request == Request(9, 3, takes=3, sampling=Sampling(0.5, 5, 0.9, 7), **given)  # type: ignore[arg-type]


def test_a_seed_that_is_not_given_is_drawn() -> None:
    first, second = (asked_of(SampleKeys(), CODEC, BARE).request for _ in range(2))
    assert first.seed_is_drawn and second.seed_is_drawn
    assert first.sampling.seed != second.sampling.seed
    assert first.sampling.temperature == TEMPERATURE


def test_a_temperature_next_to_zero_is_zero() -> None:
    assert sampling_of(SampleKeys(temperature=1e-320)) == sampling_of(SampleKeys(temperature=0.0))
    assert sampling_of(SampleKeys(temperature=1e-20)).temperature == 1e-20


@pytest.mark.parametrize(
    ("until", "text"),
    [("ab", "ab"), (r"\n\n", "\n\n"), (r"a\t\\n", "a\t\\n"), ("\n", "\n"), (r"\a", r"\a")],
)
def test_escapes_are_read_as_a_shell_hands_them_over(until: str, text: str) -> None:
    found = ending_of(SampleKeys(until=until), CODEC, ENDS)
    assert found is not None
    assert CODEC.decode(found.symbols) == text


def test_bytes_end_at_a_text_too_and_documents_where_they_are_learnt() -> None:
    document = Ending((6,), is_document=True)
    assert ending_of(SampleKeys(until="é"), Bytes(), ENDS) == Ending((0xC3, 0xA9))
    assert ending_of(SampleKeys(until="document"), CODEC, ENDS) == document
    assert ending_of(SampleKeys(), CODEC, ENDS) == document
    assert ending_of(SampleKeys(length=9), CODEC, ENDS) is None
    assert ending_of(SampleKeys(), CODEC, BARE) is None


@pytest.mark.parametrize(
    ("codec", "until", "words"),
    [
        (CODEC, "", "until is empty: give the text"),
        (CODEC, "aB", "'B' .* offset 1.* never saw"),
        (CODEC, "document", "train it with model.ends=true"),
        (MuLaw(256, RATE), "a", "give seconds, or until=document"),
    ],
)
def test_what_no_sample_ends_with_is_refused(codec: Codec, until: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ending_of(SampleKeys(until=until), codec, BARE)


def test_what_cannot_be_a_loop_is_refused() -> None:
    tone = np.sin(np.arange(3 * RATE) / 6).astype(np.float32)[:, None]
    codec = Spectral.fit(tone, RATE, 512)
    follows = SampleKeys(loop=True, seconds=1, prompt_audio="a.wav", include_prompt=False)
    request = asked_of(follows, codec, BARE).request
    assert request.extra == codec.symbols_of(2 * RATE)
    bare = asked_of(SampleKeys(seconds=1), codec, BARE).request
    assert (bare.length, bare.extra) == (request.length - request.extra, 0)
    for keys, said in (
        ({"until": "document"}, "leave until out"),
        ({"prompt_audio": "a.wav"}, "give include_prompt=false"),
        ({"seconds": 0.15}, "give seconds=0.2 or more"),
    ):
        given: dict[str, Any] = {"seconds": 1, **keys}
        with pytest.raises(ConfigError, match=said):
            asked_of(SampleKeys(loop=True, **given), codec, BARE)
    for other in (Bytes(), MuLaw(256, RATE)):
        with pytest.raises(ConfigError, match=r"only a model of data.codec=spectral"):
            asked_of(SampleKeys(loop=True), other, BARE)
