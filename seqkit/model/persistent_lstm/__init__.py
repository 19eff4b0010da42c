"""An LSTM layer whose recurrence stays on the chip: docs/how/kernel.md."""
