"""Checkpoints that predict the same: those of an ensemble, and the teachers of a training."""

from collections.abc import Sequence
from dataclasses import dataclass

from seqkit.data.codecs import Codec
from seqkit.data.labels import Labels
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.session import Session
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.named_checkpoint import read


@dataclass(frozen=True)
class Predicted:
    """What several checkpoints are to predict together.

    codec, labels: of its symbols and documents.
    ends: whether the ends of documents are predicted, too.
    sha256, split: of the data whose parts judge them, and how it was split; empty if that is not
        known.
    """

    codec: Codec
    labels: Labels | None
    ends: bool
    sha256: str
    split: Sequence[float]


def read_alike(
    key: str, names: Sequence[str], predicted: Predicted, session: Session
) -> list[Checkpoint]:
    """The checkpoints that a key names, all of which predict the same.

    One that split the same data otherwise is told of: it may know what it is judged by.

    Raises:
        ConfigError: one has another codec or other labels, does not end documents alike, or reads
            codes of its own.
        CheckpointError: there is none, or none that can be read.
    """
    checkpoints = []
    for name in names:
        saved = read(name, session.catalogue, session.notice, session.progress)
        differs = {
            "other symbols (another text, or read with other keys data.*)": (
                saved.codec.to_spec() != predicted.codec.to_spec()
            ),
            "other labels": saved.labels != predicted.labels,
            "another model.ends": bool(saved.model.ends) != predicted.ends,
            "codes of its own": saved.slow is not None,
        }
        if said := [words for words, is_so in differs.items() if is_so]:
            raise ConfigError(f"{key}: {name} does not fit: it has {' and '.join(said)}")
        split = saved.config.get("data", {}).get("split")
        if saved.data.get("sha256") == predicted.sha256 and split != [*predicted.split]:
            session.notice(
                f"{key}: {name} was trained with data.split={split}: it may have learnt what it is "
                "judged by here"
            )
        checkpoints.append(saved)
    return checkpoints
