"""The examination of some data before a training: all that `doctor` tells of it, as JSON values."""

from pathlib import Path
from typing import Any

from seqkit.advice import sound, text
from seqkit.advice.faults import Fault
from seqkit.config import DataConfig
from seqkit.data.codecs import Quantiser, SoundCodec
from seqkit.data.corpus import Corpus
from seqkit.data.file_search import Search
from seqkit.evaluation import baselines
from seqkit.foundation.console import Progress


def examine(
    data: DataConfig, corpus: Corpus, progress: Progress
) -> tuple[dict[str, Any], list[Fault]]:
    """The facts of data (docs/reference/doctor.md), and what is wrong, the worst first."""
    codec = corpus.codec
    parts = _, validation, _ = corpus.split(data.split)
    left_out = corpus.unreadable_files
    if data.path:
        search = Search(data, codec.kind)
        search.named([*map(Path, data.path)])
        left_out += search.left_out.total()
    if codec.kind == "audio":
        about, faults = _of_sound(data, corpus, codec)
    else:
        with progress("counting"):
            found, is_list = text.facts(corpus.whole, codec), data.document == "line"
        about = {"text": found}
        faults = text.faults(found, codec.kind, data.encoding, is_list=is_list)
    judged = validation if len(validation) else corpus.whole  # as the run's report does
    with progress("baselines"):
        beside = baselines.baselines(judged, codec, baselines.SAMPLE)
    facts = {
        "data": corpus.record(),
        "kind": codec.kind,
        "symbols": len(corpus.whole),
        "split": dict(zip(("training", "validation", "test"), map(len, parts), strict=True)),
        "files": {"count": len(corpus.whole.starts), "left_out": left_out},
        **about,
        "baselines": beside,
    }
    return facts, faults


def _of_sound(
    data: DataConfig, corpus: Corpus, codec: SoundCodec
) -> tuple[dict[str, Any], list[Fault]]:
    levels = sound.levels_before_gain(corpus.whole, codec)
    facts = {
        "seconds": len(corpus.whole) / codec.symbol_rate,
        "sample_rate": codec.sample_rate,
        "levels": codec.levels if isinstance(codec, Quantiser) else None,
        "peak": levels.peak,
        "offset": levels.offset,
        "silence": levels.silence,
    }
    return {"sound": facts}, sound.faults_of(corpus.whole, codec, data, levels)
