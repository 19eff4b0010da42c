"""Networks and comparisons that the tests of all engines share."""

from functools import partial

import numpy as np
import torch

from seqkit.config import ModelConfig
from seqkit.foundation.device import exact_fp32
from seqkit.generation.engines.pytorch import PreparedStep
from seqkit.generation.generate import Scoring
from seqkit.generation.sampler import Drawing, Engine, Sampling, draw, sample_blocks, shares_of
from seqkit.model.char_rnn import CharRNN
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers, uniforms

RULES = [
    Sampling(1.0, seed=3),
    Sampling(0.6, seed=4),
    Sampling(0.0),
    Sampling(1.3, top_k=5, seed=5),
    Sampling(1.0, top_p=0.8, seed=6),
    Sampling(0.9, top_k=9, top_p=0.9, seed=7),
]


def network(
    layers: int,
    hidden: int,
    size: int,
    cell: str = "lstm",
    embedding: bool = False,
    device: str = "cpu",
    skips: bool = False,
    labels: int = 0,
    places: int = 1,
) -> CharRNN:
    """A random network whose next symbol is far from certain and far from uniform."""
    config = ModelConfig(
        cell=cell,
        num_layers=layers,
        hidden_size=hidden,
        input="embedding" if embedding else "one_hot",
        embedding_size=7,
        vocabulary_size=size,
        skip_connections=skips,
        labels=[labels] if labels else [],
        label_size=4,
        symbols_per_step=places,
        head_size=20,
    )
    model = CharRNN(config, torch.Generator().manual_seed(size))
    with torch.no_grad():
        model.head.weight.mul_(10)
        for name, parameter in model.named_parameters():
            if "bias" in name:
                parameter.uniform_(-0.3, 0.3, generator=torch.Generator().manual_seed(hidden))
    return model.to(device)


def in_frames(places: int, device: str = "cpu", labels: int = 0) -> CharRNN:
    """A network as one of sound, that makes so many symbols a step."""
    return network(2, 40, 20, embedding=True, device=device, labels=labels, places=places)


def random_state(model: CharRNN, streams: int, fed: int = 0) -> State:
    """A state in the range of real ones, after so many inputs of a step; 0: all of them."""
    generator = torch.Generator().manual_seed(streams)
    zero = model.zero_state(streams)
    parts = (torch.rand(values.shape, generator=generator) - 0.5 for values in zero[:2])
    places, size = model.config.frame, model.config.vocabulary_size
    shape = (1, streams, (fed - 1) % places)
    frame = torch.randint(1, size, shape, generator=generator).float()
    return State(*(values.to(zero.h.device) for values in (*parts, frame)))


def labels_of(model: CharRNN, streams: int) -> Integers:
    """Labels (S,) drawn at random; 0 for a network that reads none."""
    return np.random.default_rng(8).integers(0, max(model.config.label_rows, 1), streams)


def stepped(
    step: PreparedStep, symbols: Integers, state: State, labels: Integers
) -> tuple[Floats, State]:
    """What `Engine.score` gives, step by step."""
    chosen, fed, carried, rows = step.on_device(labels), step.fed(state), step.split(state), []
    for each in step.on_device(symbols):
        logits, carried = step(each, carried, chosen, fed)
        fed = (fed + 1) % step.places
        rows.append(logits)
    count = len(carried) - 2 * (step.places > 1)
    h, c = (torch.stack(carried[first:count:2]).float() for first in (0, 1))
    frame = carried[-1][:, : (fed - 1) % step.places]  # none of a symbol a step
    return torch.stack(rows).cpu().numpy(), State(h, c, frame.float()[None]).arrays()


def differences(
    engine: Engine | PreparedStep, model: CharRNN, size: int, streams: int, steps: int, fed: int = 0
) -> tuple[float, float]:
    """The largest differences of logits and state from the model's, fed with the same symbols.

    `fed` inputs of the step under way came before.
    """
    symbols = np.random.default_rng(1).integers(0, size, (steps, streams))
    state = random_state(model, streams, fed)
    labels = labels_of(model, streams)
    score = partial(stepped, engine) if isinstance(engine, PreparedStep) else engine.score
    logits, after = score(symbols, state, labels)
    with torch.inference_mode(), exact_fp32():
        device = state.h.device
        given = torch.from_numpy(symbols).to(device)
        known = torch.from_numpy(np.tile(labels, (steps, 1))[..., None]).to(device)
        expected, expected_after = model(given, state, labels=known)
    gap = np.abs(logits - expected[..., :size].cpu().numpy()).max()
    pairs = zip(after, expected_after.arrays(), strict=True)
    ends = [np.abs(found - wanted).ravel() for found, wanted in pairs]
    return float(gap), float(np.concatenate(ends).max())


def check_draws(
    engine: Engine,
    model: CharRNN,
    streams: int,
    length: int,
    sampling: Sampling,
    score: Scoring | None = None,
) -> None:
    """Every symbol is the one that `draw` takes from the engine's own logits.

    Or its neighbour, where the draw is within 1e-4 of the boundary between the two. `score` gives
    these logits, if the engine scores in another precision.
    """
    state = random_state(model, streams)
    size = model.config.vocabulary_size
    begin = np.zeros((streams, size))
    labels = labels_of(model, streams)
    drawn = np.concatenate(
        list(sample_blocks(engine, begin, state, length, sampling, labels=labels))
    )
    assert drawn.shape == (length, streams)
    logits, _ = (score or engine.score)(drawn[:-1], state, labels)
    draws = np.stack([uniforms(sampling.seed, s, 1, length - 1) for s in range(streams)], 1)
    flat = logits.reshape(-1, size)
    if sampling.temperature == 0:
        chosen = np.take_along_axis(logits, drawn[1:, :, None], -1)[..., 0]
        assert (chosen >= logits.max(-1) - 0.02).all()  # two that are as good as tied may swap
        return
    expected = draw(flat, draws.ravel(), sampling).reshape(drawn[1:].shape)
    lower, upper = (
        draw(flat, np.clip(draws.ravel() + shift, 0, 1), sampling).reshape(expected.shape)
        for shift in (-1e-4, 1e-4)
    )
    assert ((drawn[1:] == expected) | (drawn[1:] == lower) | (drawn[1:] == upper)).all()
    assert (drawn[1:] == expected).mean() > 0.99
    assert len(np.unique(drawn)) > 3


def flat(size: int, device: str = "cpu") -> CharRNN:
    """A network whose next symbol has the same probabilities after whatever was read."""
    model = network(1, 32, size)
    with torch.no_grad():
        model.head.weight.zero_()
        model.head.bias.normal_(generator=torch.Generator().manual_seed(1))
    return model.to(device)


def probabilities(logits: Floats, sampling: Sampling) -> Floats:
    """The distribution (S, V) that symbols are drawn from, given logits (S, V)."""
    if sampling.temperature == 0:
        return np.asarray(np.eye(logits.shape[-1])[logits.argmax(-1)])
    shares = shares_of(logits, sampling)
    return np.asarray(shares / shares.sum(-1, keepdims=True))


def check_frequencies(engine: Engine, model: CharRNN, streams: int, sampling: Sampling) -> None:
    """Of a million draws of a `flat` network a chi-square test finds nothing to say against."""
    count, size = 1_000_000, model.config.vocabulary_size
    draws = np.random.default_rng(5).random((count // streams, streams))
    blocks = np.array_split(draws, -(-len(draws) // 1000))
    first, state = np.zeros(streams, np.int64), model.zero_state(streams)
    drawn = np.concatenate([*engine.sample(Drawing(first, state, blocks, sampling, first))])
    expected = probabilities(model.head.bias.detach().cpu().numpy()[None], sampling)[0] * count
    observed = np.bincount(drawn.ravel(), minlength=size)
    assert not observed[expected == 0].any()
    kept = expected > 5
    chi_square = ((observed - expected)[kept] ** 2 / expected[kept]).sum()
    freedom = kept.sum() - 1
    assert chi_square < freedom + 4 * (2 * freedom) ** 0.5 + 8
