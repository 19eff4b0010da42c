"""What a run recorded of the losses that need no training."""

import math
from dataclasses import dataclass

from seqkit.evaluation import baseline_names
from seqkit.runs.record import Record


@dataclass(frozen=True)
class Baseline:
    """What needs no training: nats a symbol."""

    name: str
    brief: str
    nats: float


def noun(record: Record) -> str:
    """What a symbol of this run is."""
    kind = record.text("data", "kind")
    if not kind and record.settings:
        kind = record.settings.data.kind
    symbols_per_sample = record.settings.data.symbols_per_sample if record.settings else 1
    return baseline_names.noun(kind, symbols_per_sample)


def baselines(record: Record) -> list[Baseline]:
    """Those that the run recorded, the weakest first."""
    found = []
    for key, name in baseline_names.names(noun(record)).items():
        bits = record.number("baselines", key)
        if bits is not None and 0 <= bits < 64:
            found.append(Baseline(*name, bits * math.log(2)))
    return sorted(found, key=lambda baseline: -baseline.nats)


def guess(record: Record) -> Baseline | None:
    """What a network has to beat to have learned anything: guessing."""
    known = {baseline.brief: baseline for baseline in baselines(record)}
    return known.get("by frequency", known.get("blind guess"))
