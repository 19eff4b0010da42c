"""A one-step-ahead forecaster, trained with torch.nn.LSTM and with seqkit.lstm.LSTM.

    python examples/forecast.py --steps 500

The series is a neuron's potential, from matplotlib. The last value again makes an error of 0.123.
"""

import argparse
import time

import torch
from matplotlib import cbook
from torch import Tensor, nn

from seqkit.lstm import LSTM

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
T, B = 256, 64  # steps and lanes of a batch


def train(lstm: nn.LSTM, series: Tensor, steps: int) -> tuple[float, float]:
    """Seconds of all steps but the first ten, and the error on the last sixth of a series (N,)."""
    head, cut = nn.Linear(lstm.hidden_size, 1).to(series.device), len(series) * 5 // 6
    optimizer = torch.optim.AdamW([*lstm.parameters(), *head.parameters()], lr=0.002)

    def error(windows: Tensor) -> Tensor:  # (T + 1, B)
        with torch.autocast("cuda", torch.bfloat16, enabled=series.is_cuda):
            changes = head(lstm(windows[:-1, :, None])[0])[..., 0]
        return (windows[:-1] + changes.float() - windows[1:]).square().mean()

    begun = time.perf_counter()
    for step in range(steps):
        starts = torch.randint(cut - T, (B,)) + torch.arange(T + 1)[:, None]
        optimizer.zero_grad()
        loss = error(series[starts.to(series.device)])
        loss.backward()
        optimizer.step()
        if step in (9, steps - 1):
            loss.item()  # waits for the GPU
            before, begun = begun, time.perf_counter()
    with torch.no_grad():
        return begun - before, float(error(series[cut:, None]).sqrt())


def main() -> None:
    """Print both times and errors."""
    parser = argparse.ArgumentParser(description="A forecaster with either LSTM.")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--hidden-size", type=int, default=256)
    given = parser.parse_args()
    file = str(cbook.get_sample_data("membrane.dat", asfileobj=False))
    series = (torch.from_file(file, size=12_000).to(DEVICE) + 0.424) / 0.133  # mean 0, variance 1
    for name, kind in {"torch.nn.LSTM": nn.LSTM, "seqkit.lstm.LSTM": LSTM}.items():
        torch.manual_seed(0)
        seconds, error = train(kind(1, given.hidden_size, 2, device=DEVICE), series, given.steps)
        print(f"{name}: {seconds:.2f} s, error {error:.4f}")


if __name__ == "__main__":
    main()
