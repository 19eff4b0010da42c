"""Recurrent layers, with nothing of the rest of seqkit: docs/how/kernel.md.

    way = fastest(Task("lstm", input_size, hidden_size, num_layers, T, B, device), ["fp16"])
    modules = make_layers("lstm", input_size, hidden_size, num_layers).to(device)
    layers = Layers.of(modules, "lstm", way.kernel, way.dtype).packed(separators=False)
    outputs, h, c = layers(x, h, c)

`LSTM` is `torch.nn.LSTM` by the faster way: docs/how/layer.md. `cells` has the equations. The last
names compile, record and time whatever runs on a GPU.
"""

from seqkit.lstm import cells
from seqkit.lstm.choice import DTYPES, Execution, Task, fastest
from seqkit.lstm.fused_calls import TENSOR_CORE
from seqkit.lstm.graph import GraphedCall, SideStream, milliseconds
from seqkit.lstm.layers import Layers, make_layers
from seqkit.lstm.module import LSTM
from seqkit.lstm.nvrtc import Kernel, KernelError

__all__ = [
    "DTYPES",
    "LSTM",
    "TENSOR_CORE",
    "Execution",
    "GraphedCall",
    "Kernel",
    "KernelError",
    "Layers",
    "SideStream",
    "Task",
    "cells",
    "fastest",
    "make_layers",
    "milliseconds",
]
