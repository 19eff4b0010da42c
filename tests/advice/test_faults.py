"""What is told of data is true of it, and what was probably meant to be read otherwise."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.advice.faults import Fault, levels_of, sound_faults, text_facts, text_faults
from seqkit.config import DataConfig
from seqkit.data.codecs import Characters, MuLaw
from seqkit.data.corpus import Corpus, Part
from seqkit.data.load import load_corpus
from seqkit.data.sound import Wave
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.ranks import Session

RATE = 8000
NOISE = np.random.default_rng(0).uniform(-0.5, 0.5, 12 * RATE).astype(np.float32)
TONE = np.sin(np.arange(12 * RATE) / 3).astype(np.float32)


def told_of(content: str) -> list[Fault]:
    codec = Characters.fit([content])
    part = Part.of(codec.encode(content))
    return text_faults(part, codec, text_facts(part, codec), DataConfig(path=["a b.txt"]))


def test_characters_are_counted_across_blocks() -> None:
    codec, content = Characters("ab", 0), "ab" * 40_000 + "b"
    counts = text_facts(Part.of(codec.encode(content)), codec)["vocabulary"]["counts"]
    assert counts == {"b": 40_001, "a": 40_000}


def faults(content: str) -> str:
    return "\n".join(fault.line for fault in told_of(content))


def test_every_fault_is_told() -> None:
    rng = np.random.default_rng(0)
    good = "\n".join("".join(rng.choice(list("abcdefgh "), 60)) for _ in range(2000))
    assert faults(good) == ""
    assert "CR stands 100 times" in faults("a line\r\n" * 100)
    assert "one symbol" in faults("aaaa")
    assert "the text is short, 600 symbols" in faults(good[:600])
    assert "init_from=shakespeare" in faults(good[:600])
    assert "init_from" not in faults("".join(map(chr, rng.integers(0x410, 0x450, 600))))
    assert "symbols occur fewer than 10 times" in faults(good + "".join(map(chr, range(300, 400))))


def test_rare_characters_that_make_up_much_of_a_text_are_not_to_be_left_out() -> None:
    rare = "".join(chr(0x4E00 + number) for number in range(300))
    for text_of, advised in (("ab" * 60_000 + rare, {"max_vocabulary", "unknown"}), (rare * 2, {})):
        fault = next(each for each in told_of(text_of) if "too few" in each.line)
        assert {*fault.keys} == {*advised}
        assert ("give more of it" in fault.line) == (not advised)


def leave(path: Path, wave: Wave, rate: int = RATE) -> Path:
    soundfile.write(path, wave, rate, "FLOAT")
    return path


@pytest.mark.parametrize(
    ("wave", "said"),
    [
        (NOISE, ""),
        (NOISE[:RATE], "the sound is short, 1.0 s: 10 s is the least"),
        (0.02 * NOISE, "the sound is quiet, -40 dB of full scale"),
        (np.append(NOISE, np.zeros(3 * len(NOISE))), "74% of the sound is silence"),
        (np.append(0.3, np.full(len(NOISE), 0.3003)), "one symbol, again and again"),
        (np.append(NOISE, [1.5, -2, 0]), "2 samples over 1 clipped: give data.gain=peak"),
        ((3 * TONE).clip(-1, 1), ") with over 1 % of the samples at full scale"),
        (1.5 * NOISE, "look like no recording's"),
        (TONE, ""),
        (np.append(0.9 * NOISE, np.ones(900)), ""),
    ],
)
def test_the_faults_that_a_training_tells(wave: Wave, said: str, tmp_path: Path) -> None:
    data = DataConfig(path=[str(leave(tmp_path / "a.wav", wave))])
    corpus = load_corpus(data, Session(Catalogue(), lambda text: None))
    assert isinstance(corpus.codec, MuLaw)
    faults = sound_faults(corpus, data)
    assert len(faults) == bool(said)
    assert said in "".join(fault.line for fault in faults)
    data.trim_silence = 40  # which cures silence
    cured = sound_faults(corpus, data)
    assert cured == (faults if "silence" not in said else [])
    gains = [fault for fault in faults if "gain" in fault.keys]  # which a known codec has
    assert sound_faults(corpus, data, known=True) == ([] if gains else cured)


def test_a_gain_mends_what_is_quiet() -> None:
    codec = MuLaw(256, RATE, 100.0)
    corpus = Corpus(Part.of(codec.encode(0.02 * NOISE)), codec, "", "")
    assert not sound_faults(corpus, DataConfig())


def test_silence_is_what_lies_far_below_the_rest() -> None:
    noise, codec = np.random.default_rng(0).normal(0, 1, 8000).astype(np.float32), MuLaw(256, RATE)
    for rest, silence in ((1e-4 * noise, 0.35), (0.01 * noise, 0)):  # 0.3 s of a pause are kept
        found = levels_of(Part.of(codec.encode(np.append(0.1 * noise, rest))), codec)
        assert found.silence == pytest.approx(silence)
