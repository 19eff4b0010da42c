"""A loaded model gives what the commands give, and its state is explicit."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch

import seqkit
from seqkit.api.model import Model, ModelState
from seqkit.foundation.errors import DeviceError
from seqkit.generation import generate
from seqkit.generation.engines import choose_engine
from tests.conftest import SMALL, Run

OTHER = np.zeros((1, 3), np.float32)


@pytest.fixture(scope="module")
def text(trained: Path) -> Model[Any]:
    return seqkit.load(trained, device="cpu")


@pytest.fixture(scope="module")
def voice(sung: Path) -> Model[Any]:
    return seqkit.load(str(sung), device="cpu")


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.generate("the ", length=5, sample=seqkit.SampleConfig(engine="torch")),
        lambda model: model.nats("the rain"),
    ],
)
def test_memory_that_runs_out_is_told_in_words(
    call: Callable[[Model[str]], object], trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_out(*given: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr(torch.nn.functional, "linear", run_out)  # for the logits, as the next one
    monkeypatch.setattr(torch, "addmm", run_out)
    with pytest.raises(DeviceError, match=r"out of memory: CUDA .* Try device='cpu'"):
        call(seqkit.load(trained, "cpu"))


def test_text_is_the_very_text_of_the_command(text: Model[Any], trained: Path, run: Run) -> None:
    words = ["prompt=a let", "length=90", "seed=5", "temperature=0.7", "top_k=9", "device=cpu"]
    command = run("generate", f"checkpoint={trained}", *words)
    keys: dict[str, Any] = {"length": 90, "seed": 5, "temperature": 0.7, "top_k": 9}
    made = text.generate("a let", **keys)
    assert made == command.out.decode()
    numbers: dict[str, Any] = {name: np.asarray(value)[()] for name, value in keys.items()}
    numbers["temperature"] = np.float32(0.7)
    pieces = list(text.stream("a let", **numbers))  # of NumPy
    assert "".join(pieces) == made
    assert len(pieces) > 2
    assert pieces[0] == "a let"


def test_a_prompt_is_left_out_of_the_result(text: Model[Any], voice: Model[Any]) -> None:
    for model, prompt in ((text, "a let"), (voice, voice.generate(length=50, seed=2))):
        keys: dict[str, Any] = {"length": 90, "seed": 5}
        whole = model.generate(prompt, **keys)
        keys["include_prompt"] = False
        new = model.generate(prompt, **keys)
        assert len(new) == 90
        assert list(new) == list(whole[len(prompt) :])
        assert [part for piece in model.stream(prompt, **keys) for part in piece] == list(new)
    assert text.generate(include_prompt=False, length=9, seed=1) == text.generate(length=9, seed=1)


def test_many_samples_are_those_of_the_command(text: Model[Any], trained: Path, run: Run) -> None:
    for prompt, kept in (("the ", True), ("the ", False)):
        keys: dict[str, Any] = {"length": 30, "seed": 3, "temperature": 1.0}
        made = text.generate_many(3, prompt, include_prompt=kept, **keys)
        words = [f"{key}={value}" for key, value in keys.items()]
        words += [f"prompt={prompt}", f"include_prompt={str(kept).lower()}", "streams=3"]
        shown = run.ok("generate", f"checkpoint={trained}", "device=cpu", *words).out.decode()
        assert shown == "\n\n".join(made)
    assert [len(one) for one in text.generate_many(1, length=5)] == [5]
    with pytest.raises(seqkit.ConfigError, match="streams"):
        text.generate_many(0)
    with pytest.raises(seqkit.ConfigError, match="streams"):
        text.generate_many(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "words"),
    [("streams", r"generate_many\(STREAMS"), ("temprature", r"did you mean temperature\?")],
)
def test_an_unknown_argument_is_told_with_what_was_meant(
    key: str, words: str, text: Model[Any]
) -> None:
    unknown: Any = {key: 2}
    with pytest.raises(seqkit.ConfigError, match=words):
        text.generate(**unknown)


def test_bytes_come_as_bytes(run: Run, text_file: Path, tmp_path: Path) -> None:
    keys = [*SMALL, "data.kind=bytes", "model.cell=gru", "train.max_steps=2"]
    run.ok("recipe=shakespeare", *keys, f"data.path={text_file}", f"run_dir={tmp_path / 'run'}")
    model = seqkit.load(tmp_path / "run", device="cpu")
    words = ["prompt=the", "length=40", "seed=1", "device=cpu"]
    command = run("generate", f"checkpoint={tmp_path / 'run'}", *words)
    assert model.generate(b"the", length=40, seed=1) == command.out
    assert model.sample_rate is None


def test_sound_is_the_very_sound_of_the_command(
    voice: Model[Any], sung: Path, run: Run, tmp_path: Path
) -> None:
    out = tmp_path / "made.wav"
    words = [f"out={out}", "seconds=0.1", "seed=1", "device=cpu"]
    run.ok("generate", f"checkpoint={sung}", *words)
    wave = voice.generate(seconds=0.1, seed=1)
    assert wave.dtype == np.float32
    assert voice.sample_rate == 2000
    samples, _ = soundfile.read(out, dtype="float32")
    np.testing.assert_allclose(np.clip(wave, -1, 1), samples, atol=2**-15)  # as files hold it
    longer = voice.generate(wave, length=30)
    np.testing.assert_array_equal(longer[:200], voice.codec.decode(voice.codec.encode(wave)))
    assert len(longer) == 230


def test_nats_are_those_of_the_logits(text: Model[Any]) -> None:
    content = "a small letter.\n" * 300  # longer than what is read in one call
    nats, logits = text.nats(content), text.logits(content)
    assert nats.shape == (4800,)
    assert logits.shape == (4801, text.codec.size)
    shares = torch.log_softmax(torch.from_numpy(logits), -1).numpy()
    symbols = text.codec.encode(content)  # type: ignore[arg-type]
    np.testing.assert_allclose(nats, -shares[np.arange(4800), symbols], atol=1e-5)
    following = text.logits("", state=text.state(content))
    np.testing.assert_allclose(following[0], logits[-1], atol=1e-5)


def test_a_state_goes_on_where_it_was_handed_back(text: Model[Any]) -> None:
    whole = text.nats("a small letter")
    first, state = text.nats("a small "), text.state("a small ")
    assert isinstance(state, ModelState)
    assert state.h.shape == (2, 24)
    second, after = text.nats("letter", state=state), text.state("letter", state=state)
    np.testing.assert_allclose(np.concatenate([first, second]), whole, atol=1e-6)
    for one, other in zip(after[:2], text.state("a small letter")[:2], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert after.symbol == text.state("a small letter").symbol
    assert text.nats("a").tolist() == text.nats("a", state=text.state()).tolist()
    assert text.nats("").shape == (0,)


def test_generation_goes_on_from_a_state(text: Model[Any]) -> None:
    straight = text.generate("a small letter", length=30, seed=2)
    state = text.state("a small ")
    assert "a small " + text.generate("letter", length=30, seed=2, state=state) == straight


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.generate(b"a"), "prompt=b'a': expected str, got bytes"),
        (lambda m: m.generate("a", length="many"), r"length='many': expected int \| None"),
        (lambda m: m.generate("a", seconds=2), "seconds=2: this model writes text"),
        (lambda m: m.generate("a", sample="torch"), "sample='torch': expected SampleConfig"),
        (lambda m: m.generate("Ω"), "prompt: character 'Ω'"),
        (lambda m: m.nats(7), "content=7: expected str"),
        (lambda m: m.nats("a", state=ModelState(OTHER, OTHER, 0)), r"\(L, H\) = \(2, 24\)"),
        (lambda m: m.nats("a", state=m.state()._replace(symbol=99)), "another model's: this one"),
        (lambda m: m.nats("a", state=m.state()._replace(frame=OTHER)), "another model's"),
    ],
)
def test_wrong_arguments_are_named(text: Model[Any], call: Any, words: str) -> None:
    with pytest.raises(seqkit.ConfigError, match=words):
        call(text)


@pytest.mark.parametrize("engine", ["torch", "wasm"])
def test_an_engine_is_kept_and_never_shared(
    text: Model[Any], engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    sample = seqkit.SampleConfig(engine=engine)
    keys: dict[str, Any] = {"length": 25, "sample": sample}
    expected = {seed: text.generate("a ", seed=seed, **keys) for seed in (1, 2)}

    def counted(*given: Any) -> Any:
        made.append(choose_engine(*given))
        return made[-1]

    monkeypatch.setattr(generate, "choose_engine", counted)
    assert text.generate("a ", seed=1, **keys) == expected[1]
    assert text.generate("a ", seed=2, **keys) == expected[2]
    assert not made
    streams = [text.stream("a ", seed=seed, **keys) for seed in (1, 2)]
    pieces = list(itertools.zip_longest(*streams, fillvalue=""))
    assert ["".join(stream) for stream in zip(*pieces, strict=True)] == [expected[1], expected[2]]
    assert len(made) == 1


def test_a_kept_engine_is_not_used_with_other_weights(trained: Path) -> None:
    model = seqkit.load(trained, device="cpu")
    before = model.generate("a ", length=30, seed=4)
    other = seqkit.load(trained, device="cpu")
    changed = {name: -values for name, values in model.char_rnn.state_dict().items()}
    for each in (model, other):
        each.char_rnn.load_state_dict(changed)
    after = model.generate("a ", length=30, seed=4)
    assert after == other.generate("a ", length=30, seed=4) != before


@pytest.mark.parametrize("outer", [torch.inference_mode, torch.no_grad])
def test_a_model_is_the_same_whatever_mode_it_is_loaded_and_called_in(
    outer: type, text: Model[Any], trained: Path
) -> None:
    with outer():
        loaded = seqkit.load(trained, device="cpu")
    wanted = text.generate("the ", length=20, seed=3), text.nats("the rain").tolist()
    found = loaded.generate("the ", length=20, seed=3), loaded.nats("the rain").tolist()
    assert found == wanted
    with outer():
        within = "".join(loaded.stream("the ", length=20, seed=3))
        assert (within, loaded.nats("the rain").tolist()) == wanted


@pytest.mark.gpu
def test_a_model_leaves_the_settings_of_gpus_to_the_caller(trained: Path) -> None:
    """Also between the pieces of a stream."""

    def settings() -> tuple[int, str, bool]:
        matmul = torch.backends.cuda.matmul
        return torch.cuda.current_device(), matmul.fp32_precision, torch.backends.cudnn.allow_tf32

    before = settings()
    loaded = seqkit.load(trained, f"cuda:{torch.cuda.device_count() - 1}")
    assert settings() == before
    loaded.nats("the rain")
    assert settings() == before
    for _ in loaded.stream("the ", length=300, seed=3):
        assert settings() == before
    assert settings() == before


def test_what_is_no_checkpoint_is_refused(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("no checkpoint")
    for place, words in [
        (tmp_path / "none", "no such checkpoint"),
        (tmp_path, "no checkpoint in this folder"),
        (tmp_path / "text.txt", "not a seqkit checkpoint"),
    ]:
        with pytest.raises(seqkit.CheckpointError, match=words):
            seqkit.load(place)
    with pytest.raises(seqkit.ConfigError, match="device=tpu"):
        seqkit.load(trained, device="tpu")
