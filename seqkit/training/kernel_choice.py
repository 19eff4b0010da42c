"""How a network runs on this device: what `lstm.choice` finds for its layers, in words of keys."""

import dataclasses

from seqkit.data.lanes import Lanes
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.lstm import TENSOR_CORE, Execution, KernelError, Task, fastest
from seqkit.model.char_rnn import CharRNN


def choose_execution(
    model: CharRNN,
    lanes: Lanes,
    *,
    precisions: list[str],
    timed: bool = True,
    before: Execution | None = None,
) -> Execution:
    """The execution that a run had before, else the one that is expected to be the fastest.

    Args:
        model: on its device.
        lanes: what it is to be trained on.
        precisions: those that are allowed, the first where nothing is timed.
        timed: see `fastest`.
        before: what a run that is resumed ran as; kept if it is supported here.

    Raises:
        ConfigError, DeviceError: model.backend=persistent where that kernel cannot run.
    """
    task = task_of(model, lanes)
    if before is not None and before.precision in precisions and task.runs(before):
        return before
    if task.backend == "persistent" and not task.own_kernels:
        raise ConfigError(
            "model.backend=persistent runs an LSTM whose model.hidden_size is a multiple of 64 up "
            f"to 1024, not {task.cell} with {task.hidden_size}: use model.backend=cudnn"
        )
    if task.backend == "persistent" and model.head.weight.is_cuda and {*precisions} == {"fp32"}:
        raise ConfigError("model.backend=persistent has 16 bits: leave train.precision=auto")
    try:
        return fastest(task, precisions, timed=timed)
    except KernelError as error:
        raise DeviceError(f"model.backend=persistent {error}: use model.backend=cudnn") from error


def task_of(model: CharRNN, lanes: Lanes) -> Task:
    """The layers of a network on its device, and what they are trained on."""
    config = model.config
    return Task(
        cell=config.cell,
        input_size=config.input_width,
        hidden_size=config.hidden_size,
        num_layers=config.num_layers,
        steps=lanes.sequence_length // config.frame,
        lanes=lanes.widest,
        device=model.device,
        backend=config.backend,
        one_hot=config.input == "one_hot" and config.frame == 1,
        resets=lanes.has_separators,
        within=config.skip_connections or any(config.unit_dropout),
    )


def advice(model: CharRNN, lanes: Lanes, execution: Execution) -> list[str]:
    """What the user may want to know of how this model runs on this device."""
    task, notes = task_of(model, lanes), list[str]()
    hidden, on_gpu = task.hidden_size, task.device.type == "cuda"
    if on_gpu and hidden % TENSOR_CORE and task.backend != "unrolled":
        notes.append(
            f"model.hidden_size={hidden}: the fast kernels of this GPU take multiples of "
            f"{TENSOR_CORE}"
        )
    if on_gpu and task.backend == "auto" and not execution.persistent and task.own_kernels:
        widest = dataclasses.replace(execution, kernel=task.own_kernels[-1])
        if reason := task.refusal(widest):
            notes.append(f"cuDNN runs the layers: the persistent kernel {reason}")
    if task.widens(execution):
        notes.append(
            f"this PyTorch computes wrong gradients for layers of {hidden} units in bf16 on this "
            "processor: they run in fp32, which is right and slower"
        )
    return notes
