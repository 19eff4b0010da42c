"""A running average of the weights (Polyak and Juditsky, 1992), which is evaluated beside them."""

import torch
from torch import Tensor

from seqkit.model.char_rnn import CharRNN
from seqkit.training.saved_state import require_tensors


class WeightAverage:
    """An exponential average, corrected for its beginning as in Adam (Kingma and Ba, 2015).

    After n updates those of k updates ago count in proportion to decay ** k: at the beginning it
    is the mean of what there was so far. It only uses tensors: a CUDA graph can replay it.

    Attributes:
        model: a network with the averages as its parameters.
        averages: those, in the order of `Network.tensors`.
        share: of the newest weights in the next average.
    """

    def __init__(self, model: CharRNN, decay: float) -> None:
        self.model = model.copied()
        self._own = [own.detach() for own in model.network().tensors()]
        self.averages = self.model.network().tensors()
        self._decay = decay
        self.share = torch.zeros((), device=model.head.weight.device)

    def set_step(self, step: int) -> None:
        """Let the weights after update number `step`, from 0, have the share that they should."""
        self.share.fill_((1 - self._decay) / (1 - self._decay ** (step + 1)))

    @torch.no_grad()
    def update(self) -> None:
        """Take in the weights as they are now."""
        for average, own in zip(self.averages, self._own, strict=True):
            average.lerp_(own, self.share)

    def tensors(self) -> dict[str, Tensor]:
        """All that an update changes."""
        return {f"average.{index}": values for index, values in enumerate(self.averages)}

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go on from what `tensors` returned; others are passed over.

        Raises:
            ValueError: there is none, or it belongs to another model.
        """
        require_tensors(tensors, self.tensors())
        for name, own in self.tensors().items():
            own.copy_(tensors[name])
