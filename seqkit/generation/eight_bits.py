"""Which networks a CPU runs in 8 bits, and what that costs them in quality."""

import numpy as np

from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.generation.engine import Engine
from seqkit.generation.engines.choose import build_engine
from seqkit.model.arrays import Network
from seqkit.model.cells import GATES
from seqkit.symbols import Floats

_HEAVY = 6e9  # products a second; a core next to other programs makes about as many in fp32
_CALL = 150_000  # products that take as long as a call
_LANES, _STEPS = 32, 160  # stretches of a part, and the symbols of each, in whole frames
_WARM = 32  # of which so many first ones do not count


def is_heavy(model: ModelConfig, rate: float) -> bool:
    """Whether a network that makes `rate` symbols a second should run in 8 bits on a CPU.

    This is a matter of its size, and not of the machine's speed, so that a seed gives the same on
    machines of one kind.
    """
    h, v, layers, places = model.hidden_size, model.vocabulary_size, model.num_layers, model.frame
    recurrent = GATES[model.cell] * h * (2 * layers - 1) * h  # the bottom layer looks up its input
    # Each of several symbols takes a call of its own.
    head = v * h if places == 1 else (v + h) * model.head_size + _CALL
    return rate * (recurrent / places + head) > _HEAVY


def added_nats(model: Network, size: int, part: Part, start: int) -> float | None:
    """How many nats per symbol 8 bits add to fp32, by the engine that adds more, on stretches.

    None: the part is too short to tell. `start` is the codec's start symbol, `size` its V.

    Raises:
        ConfigError: ONNX Runtime does not load.
    """
    steps = _STEPS // model.config.frame * model.config.frame
    lanes = min(_LANES, len(part) // steps)
    if not lanes:
        return None
    begins = np.linspace(0, len(part) - steps, lanes).astype(np.int64) // part.frame * part.frame
    conditions = part.conditions(begins + np.arange(steps)[:, None])
    stretches = [part.symbols[begin : begin + steps] for begin in begins.tolist()]
    targets = np.stack(stretches, 1).astype(np.int64)
    fed = np.concatenate([np.full((1, lanes), start), targets[:-1]])

    def nats(engine: Engine) -> Floats:
        logits, _ = engine.score(fed, model.zero_state(lanes), conditions)
        shifted = logits - logits.max(-1, keepdims=True)
        chosen = np.take_along_axis(shifted, targets[..., None], -1)[..., 0]
        return np.asarray(np.log(np.exp(shifted).sum(-1)) - chosen)

    exact = nats(build_engine("onnx", "fp32", model, size, lanes))
    names = ("onnx", "wasm") if model.config.cell == "lstm" else ("onnx",)
    by_engine = [nats(build_engine(name, "int8", model, size, lanes)) - exact for name in names]
    return max(float(added[_WARM:].mean(dtype=np.float64)) for added in by_engine)
