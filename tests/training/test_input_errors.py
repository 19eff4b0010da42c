"""Errors are drawn as often and as large as asked for, the same for the same seed and step."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import Tensor

from seqkit.conditions import Conditions
from seqkit.data.lanes import Window
from seqkit.data.reading_errors import Errors
from seqkit.training.input_errors import InputErrors
from tests.training.stepping import errors

T, B, V, STEPS = 40, 3000, 100, 4
AS_IT_IS = np.arange(V)
NOTHING = Errors(share=1.0, steps=STEPS, symbols=V)
DEVICE = torch.device("cpu")


def window(symbol: int = 50, code: int = 3, lanes: int = B, labels: bool = False) -> Window:
    symbols = torch.full((T, lanes), symbol)
    fresh = torch.zeros(lanes, dtype=torch.bool)
    of_documents = torch.tensor([4, 2]).expand(T, lanes, 2) if labels else None
    return Window(
        symbols, symbols, fresh, None, Conditions(torch.full_like(symbols, code), of_documents)
    )


def codes_of(window: Window) -> Tensor:
    """Those of the lanes, (B,), which are the same at all steps."""
    codes = window.conditions.codes
    assert codes is not None and (codes == codes[0]).all()
    found: Tensor = codes[0]
    return found


def read(errors: Errors, step: int, seed: int = 5, first: int = 0, lanes: int = B) -> Window:
    made = InputErrors(errors, seed, DEVICE, first)
    made.set_step(step)
    whole = window(lanes=lanes)
    fresh = torch.arange(lanes) % 2 == 0
    found = made(whole, fresh)
    assert torch.equal(found.targets, whole.targets)
    return found


def test_noise_is_of_one_size_and_of_a_share_of_the_lanes() -> None:
    found = read(dataclasses.replace(NOTHING, noise=4.0, share=0.8), step=9).inputs
    deviations = (found - 50.0).std(0)
    assert (deviations == 0).float().mean() == pytest.approx(0.2, abs=0.03)
    noisy = (found - 50.0)[:, deviations > 0]
    assert float(noisy.std()) == pytest.approx(4, rel=0.02)
    assert float(noisy.mean()) == pytest.approx(0, abs=0.1)
    near = noisy[1:] * noisy[:-1]
    assert abs(float(near.mean())) < 0.5  # of a variance of 16: not the same at the next step
    edge = InputErrors(dataclasses.replace(NOTHING, noise=60.0), 5, DEVICE)
    made = edge(window(symbol=99), torch.zeros(B, dtype=torch.bool)).inputs
    assert int(made.max()) == 99
    assert int(made.min()) >= 0


def test_errors_are_those_of_the_step_and_of_the_lane() -> None:
    errors = dataclasses.replace(NOTHING, noise=4.0)
    again, other, later = (read(errors, *of) for of in ((9, 5), (9, 6), (10, 5)))
    whole = read(errors, 9)
    assert torch.equal(whole.inputs, again.inputs)
    assert not torch.equal(whole.inputs, other.inputs)
    assert not torch.equal(whole.inputs, later.inputs)
    share = read(errors, 9, first=1000, lanes=50)  # of another process
    assert torch.equal(share.inputs, whole.inputs[:, 1000:1050])


def test_some_lanes_read_other_symbols_for_some_windows() -> None:
    readings = np.array([AS_IT_IS, AS_IT_IS // 2, AS_IT_IS // 5, AS_IT_IS // 10])
    errors = dataclasses.replace(NOTHING, share=0.4, readings=readings)

    def taken(step: int) -> Tensor:
        inputs = read(errors, step).inputs
        assert (inputs == inputs[0]).all()
        return inputs[0]

    rows = [taken(step) for step in range(STEPS + 1)]
    assert all(torch.equal(row, rows[0]) for row in rows[:STEPS])
    assert not torch.equal(rows[0], rows[STEPS])
    for symbol, share in ((50, 0.7), (25, 0.1), (10, 0.1), (5, 0.1)):
        assert (rows[0] == symbol).float().mean() == pytest.approx(share, abs=0.03)


def test_half_of_the_fresh_windows_begin_with_silence() -> None:
    errors = dataclasses.replace(NOTHING, silence=np.array([7, 8]), silent_steps=30)
    found = read(errors, step=2).inputs
    lengths = (found != 50).sum(0)
    begins, fresh = lengths > 0, torch.arange(B) % 2 == 0
    assert begins[fresh].float().mean() == pytest.approx(0.5 * 29 / 30, abs=0.04)
    assert not begins[~fresh].any()
    assert int(lengths.max()) == 30
    assert (lengths % 2 == 0).all()  # whole frames
    assert float(lengths[begins].float().mean()) == pytest.approx(15.5, abs=1)
    # The first input is the last symbol of the frame before the window.
    place = torch.arange(T)[:, None]
    silent = (place >= 1) & (place <= lengths)
    expected = torch.tensor([8, 7]).repeat(T // 2)[:, None]
    assert torch.equal(found, torch.where(silent, expected, 50))


def test_silence_of_mono_begins_with_the_window() -> None:
    found = read(dataclasses.replace(NOTHING, silence=np.array([7]), silent_steps=9), step=2).inputs
    lengths = (found == 7).sum(0)
    assert int(lengths.max()) == 9
    assert torch.equal(found == 7, torch.arange(T)[:, None] < lengths)


def test_nothing_is_wrong_beyond_the_share() -> None:
    right = read(dataclasses.replace(NOTHING, share=0.0, noise=4.0), step=11)
    assert torch.equal(right.inputs, window().inputs)
    assert (codes_of(right) == 3).all()


@pytest.mark.gpu
def test_a_gpu_reads_the_same_errors() -> None:
    fresh = torch.arange(B) % 3 == 0
    made = [InputErrors(errors(), 5, torch.device(name)) for name in ("cpu", "cuda")]
    for step in (0, 1, 7):
        whole = window(symbol=4, code=2, labels=True)
        inputs, targets, begin = (own.cuda() for own in (whole.inputs, whole.targets, fresh))
        on_gpu = Window(inputs, targets, begin, None, whole.conditions.to(begin.device))
        for own in made:
            own.set_step(step)
        here, there = made[0](whole, fresh), made[1](on_gpu, begin)
        assert torch.equal(here.inputs, there.inputs.cpu())
        for one, other in zip(here.conditions, there.conditions.to(DEVICE), strict=True):
            assert one is not None and other is not None and torch.equal(one, other)


@pytest.mark.parametrize("wrong", [0.0, 1.0])
def test_a_tenth_of_the_lanes_reads_a_code_but_no_labels(wrong: float) -> None:
    own = dataclasses.replace(NOTHING, share=wrong)

    def labels_of(step: int, first: int = 0, lanes: int = B) -> Tensor:
        made = InputErrors(own, 5, DEVICE, first)
        made.set_step(step)
        found = made(window(lanes=lanes, labels=True), torch.zeros(lanes, dtype=torch.bool))
        assert (codes_of(found) == 3).all()
        labels = found.conditions.labels
        assert labels is not None and (labels == labels[0]).all()
        of_lanes: Tensor = labels[0]
        return of_lanes

    labels = labels_of(STEPS)
    assert {*map(tuple, labels.tolist())} == {(0, 0), (4, 2)}
    assert (labels == 0).float().mean() == pytest.approx(0.1, abs=0.02)
    assert torch.equal(labels, labels_of(2 * STEPS - 1))
    assert not torch.equal(labels, labels_of(2 * STEPS))
    assert torch.equal(labels[1001:1100], labels_of(STEPS, first=1001, lanes=99))
