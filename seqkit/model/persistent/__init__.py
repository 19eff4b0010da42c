"""An LSTM layer whose recurrence stays on the chip: docs/kernels.md."""
