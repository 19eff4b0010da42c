"""Run by torchrun: some processes score a part together, and leave what came of it in a file.

torchrun ... -m tests.evaluation.together FILE
"""

import json
import sys
from pathlib import Path

from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, scoring, streaming
from seqkit.evaluation.score import Score
from seqkit.evaluation.scoring import CHUNK, Scored
from seqkit.foundation import processes
from seqkit.foundation.ranks import Ranks, joined
from seqkit.model.char_rnn import CharRNN
from tests.evaluation.test_streaming import START, network, part_of

FORGETFUL, REMEMBERING = 1.0, 40.0  # biases of the forget gate


def scores(ranks: Ranks) -> dict[str, Score]:
    """The scores by what was measured."""
    forgets, remembers = network(FORGETFUL), network(REMEMBERING)
    few, many = part_of(11 * CHUNK + 7, 5 * CHUNK), part_of(*range(20, 320, 10))
    one = Part(few.symbols[:300], few.starts[:1])

    def cut(model: CharRNN, part: Part) -> Score:
        return streaming.evaluate(Scored(model, part, START, ranks=ranks))

    def windows(part: Part, window: int) -> Score:
        table = protocols.windowed(part, window)
        return scoring.evaluate(Scored(forgets, part, START, ranks=ranks), table)

    return {
        "pieces": cut(forgets, few),
        "pieces that are run again": cut(remembers, few),
        "many documents": cut(forgets, many),
        "fewer documents than processes": cut(forgets, one),
        "windows": windows(few, 256),
        "fewer windows than processes": windows(one, 300),
    }


def recorded(found: dict[str, Score]) -> dict[str, list[list[float]]]:
    """The numbers of scores."""
    return {name: [values.tolist() for values in vars(own).values()] for name, own in found.items()}


if __name__ == "__main__":
    with joined(processes.own_rank()) as own:
        found = recorded(scores(own))
        Path(f"{sys.argv[1]}.{own.rank.number}").write_text(json.dumps(found))
    processes.end(0)
