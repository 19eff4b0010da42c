"""The weights of a training: as they are kept, as a step runs them, and as evaluation sees them."""

from collections.abc import Mapping

import torch
from torch import Tensor

from seqkit.lstm import Execution
from seqkit.model.char_rnn import CharRNN


class WeightAverage:
    """An exponential average, corrected for its beginning as in Adam (Kingma and Ba, 2015).

    After n updates those of k updates ago count in proportion to decay ** k: at the beginning it
    is the mean of what there was so far. It only uses tensors: a CUDA graph can replay it.

    Attributes:
        model: a network with the averages as its parameters.
        averages: those, in the order of `RunnableWeights.tensors`.
        share: of the newest weights in the next average.
    """

    def __init__(self, model: CharRNN, decay: float) -> None:
        self.model = model.copied()
        self._own = [tensor.detach() for tensor in model.runnable_weights().tensors()]
        self.averages = self.model.runnable_weights().tensors()
        self._decay = decay
        self.share = torch.zeros((), device=model.head.weight.device)

    def set_step(self, step: int) -> None:
        """Let the weights after update number `step`, from 0, have the share that they should."""
        self.share.fill_((1 - self._decay) / (1 - self._decay ** (step + 1)))

    @torch.no_grad()
    def update(self) -> None:
        """Take in the weights as they are now."""
        for average, tensor in zip(self.averages, self._own, strict=True):
            average.lerp_(tensor, self.share)

    def tensors(self) -> dict[str, Tensor]:
        """All that an update changes."""
        return {f"average.{index}": values for index, values in enumerate(self.averages)}


_ALIGNMENT = 512  # bytes; what PyTorch's GPU allocator gives tensors of their own


class TrainingWeights:
    """The one place that makes other weights, and gradients, from a model's parameters.

    Attributes:
        parameters: the model's own, in fp32: what the optimizer updates.
        network: what a step runs. In another precision these are copies, laid out in memory as the
            execution's kernel wants them, so that no call has to cast or gather weights.
        average: of the parameters, if there is one.
        leaves: the tensors of `network`, to take gradients of.
        copies: the parts of leaves that `renew` makes, each with the parameter that it copies.
        flat_gradient: the gradient of all parameters, in fp32, in one buffer: whatever is done to
            all of it (a sum over processes, say) is one call. There are gaps of zeros in it.
        gradients: each parameter's view of that buffer.
    """

    def __init__(
        self, model: CharRNN, execution: Execution, *, separators: bool, average: float = 0.0
    ) -> None:
        """`separators`: whether the lanes have such between documents; `average`: 0 for none."""
        self._model = model
        self.parameters = model.runnable_weights().tensors()
        with torch.no_grad():  # what needs neither cast nor padding shares the parameter's memory
            network = model.runnable_weights(
                dtype=execution.dtype, kernel=execution.kernel, separators=separators
            )
        self.leaves = [leaf.detach().requires_grad_() for leaf in network.tensors()]
        first, layers = len(network.tables), len(network.layers.weights)
        dropped = layers if model.config.weight_drop else 0
        self._recurrent = [first + 4 * layer + 1 for layer in range(dropped)]  # places of every u
        for place in self._recurrent:  # what `drop` makes has memory of its own
            if _shares(self.leaves[place], self.parameters[place]):
                self.leaves[place] = self.leaves[place].detach().clone().requires_grad_()
        self.network = network.with_tensors(self.leaves)
        pairs = [*zip(self.leaves, self.parameters, strict=True)]
        self._padded = any(leaf.shape != weight.shape for leaf, weight in pairs)
        self.copies = [
            (without_padding(leaf.detach(), weight), weight)
            for place, (leaf, weight) in enumerate(pairs)
            if place not in self._recurrent and not _shares(leaf, weight)
        ]
        self.average = WeightAverage(model, average) if average else None
        self.flat_gradient, self.gradients = _flat(self.parameters)

    @torch.no_grad()
    def drop(self, masks: Tensor | None) -> None:
        """Make the recurrent weights that run: the parameters times these factors (L, G·H, H).

        With weight drop it is called before every step; without, `masks` is None and `renew` does
        it.
        """
        for place, mask in zip(self._recurrent, () if masks is None else masks, strict=False):
            parameter, leaf = self.parameters[place], self.leaves[place].detach()
            torch.mul(parameter, mask, out=without_padding(leaf, parameter))

    def models(self) -> dict[str, CharRNN]:
        """The models that validation compares, by the names that metrics.jsonl has for them."""
        average = {} if self.average is None else {"average": self.average.model}
        return {"raw": self._model} | average

    def take_gradients(self, gradients: tuple[Tensor, ...], masks: Tensor | None = None) -> None:
        """Put the gradients of `leaves` into `flat_gradient`, in fp32 and without padding.

        `masks` are those that `drop` was given.
        """
        if self._padded:
            pairs = zip(gradients, self.parameters, strict=True)
            gradients = tuple(without_padding(gradient, own) for gradient, own in pairs)
        torch._foreach_copy_(self.gradients, gradients)
        for place, mask in zip(self._recurrent, () if masks is None else masks, strict=False):
            self.gradients[place].mul_(mask)

    @torch.no_grad()
    def renew(self) -> None:
        """Make the weights that run anew from the parameters, but for those that `drop` makes."""
        for used, parameter in self.copies:
            used.copy_(parameter)


def without_padding(padded: Tensor, like: Tensor) -> Tensor:
    """A view of the leading rows and columns of `padded`, in the shape of `like`."""
    return padded[tuple(slice(size) for size in like.shape)]


def _shares(leaf: Tensor, parameter: Tensor) -> bool:
    return leaf.data_ptr() == parameter.data_ptr()


def _flat(parameters: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """One buffer of zeros for tensors shaped like the parameters, and its views as those tensors.

    The views are aligned like tensors of their own, so that the same kernels run on them.
    """
    first = parameters[0]
    unit = _ALIGNMENT // first.element_size()
    sizes = [parameter.numel() + -parameter.numel() % unit for parameter in parameters]
    flat = torch.zeros(sum(sizes), dtype=first.dtype, device=first.device)
    pieces = zip(torch.split(flat, sizes), parameters, strict=True)
    return flat, [piece[: parameter.numel()].view(parameter.shape) for piece, parameter in pieces]


def restore_tensors(saved: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Copy what was saved into the tensors that it is to become, which have the same names.

    Raises ValueError: as `require_tensors`.
    """
    require_tensors(saved, wanted)
    for name, kept in wanted.items():
        kept.copy_(saved[name])


def require_tensors(saved: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Check that tensors are there, each of the shape and dtype of the one that it is to become.

    Others are passed over. PyTorch would broadcast a smaller one, and the fused optimizers would
    write beyond its end.

    Raises ValueError: one is missing, or another one.
    """
    for name, target in wanted.items():
        kept = saved.get(name)
        if kept is None or (kept.shape, kept.dtype) != (target.shape, target.dtype):
            raise ValueError(f"{name} is missing, or of another shape or precision")
