"""`export`: a checkpoint's network as an ONNX model of one step."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from seqkit.api.model import load_checkpoint
from seqkit.commands import outputs
from seqkit.config import Config
from seqkit.foundation import disk
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError, OutputError
from seqkit.foundation.plugins import Catalogue
from seqkit.model.char_rnn import CharRNN

_STEPS = 64  # over which the model is compared with PyTorch
_TOLERANCE = 1e-3  # of logits


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Write `out`: symbols and state in, logits and state out, checked against PyTorch.

    The codec, which tells what the symbols stand for, is in the model's metadata as JSON.
    """
    try:
        from onnx import checker, helper

        from seqkit.generation.engines import onnx, onnx_graph
    except ImportError as error:
        raise ConfigError("export needs ONNX Runtime: pip install 'seqkit[onnx]'") from error
    out = outputs.result_file(config)
    if out is None:
        raise ConfigError("no out: give out=FILE.onnx")
    saved = load_checkpoint(config.checkpoint, catalogue, console.progress)
    with console.progress("export", _STEPS, unit="steps") as bar:
        network = saved.build(torch.device("cpu"))
        model = onnx.one_step(onnx_graph.OnnxStep(network, saved.codec.size))
        properties = {"codec": saved.codec.to_spec(), "start": saved.codec.start}
        helper.set_model_props(model, {key: json.dumps(value) for key, value in properties.items()})
        checker.check_model(model)
        content = model.SerializeToString()
        difference = _difference(onnx.open_session(model), network, saved.codec.size, bar.update)
    if not difference < _TOLERANCE:
        raise OutputError(f"{out}: not written, its logits differ by {difference} from PyTorch's")
    with disk.atomic_write(out, config.overwrite, len(content)) as stream:
        stream.write(content)
    console.notice(
        f"written: {out}; over {_STEPS} steps its logits differ from PyTorch's by at most "
        f"{difference:.1g}"
    )


@torch.inference_mode()
def _difference(session: Any, network: CharRNN, size: int, watch: Callable[[int], None]) -> float:
    """The largest difference of logits over some steps, from the zero state.

    `watch` hears how many steps were compared.
    """
    symbols = np.random.default_rng(0).integers(0, size, (_STEPS, 1))
    state = network.zero_state(1)
    expected, _ = network(torch.from_numpy(symbols), state)
    fed = {value.name for value in session.get_inputs()}
    carried = {name: getattr(state, name).numpy() for name in ("h", "c") if name in fed}
    largest = 0.0
    rows = zip(symbols, expected[..., :size].numpy(), strict=True)
    for done, (row, logits) in enumerate(rows, 1):
        made, *new = session.run(None, {"symbols": row, **carried})
        carried = dict(zip(carried, new, strict=True))
        largest = max(largest, float(np.abs(made - logits).max()))
        watch(done)
    return largest
