"""The examination of some data before a training: all that `doctor` tells of it, as JSON values."""

from pathlib import Path
from typing import Any

from seqkit.advice import sound, text
from seqkit.advice.faults import Fault, require_enough
from seqkit.config import Config
from seqkit.data.codecs import Quantiser, SoundCodec
from seqkit.data.corpus import Corpus
from seqkit.data.file_search import Search
from seqkit.evaluation import baselines
from seqkit.foundation.console import Progress


def examine(
    config: Config, corpus: Corpus, progress: Progress
) -> tuple[dict[str, Any], list[Fault]]:
    """The facts of a config's data (docs/reference/doctor.md), and what is wrong, the worst first.

    Raises:
        DataError: a training with this config would fail, with the least that it needs.
    """
    codec = corpus.codec
    parts = training, validation, _ = corpus.split(config.data.split)
    require_enough(config, corpus, training)
    left_out = corpus.unreadable_files
    if config.data.path:
        search = Search(config.data, codec.kind)
        search.named([*map(Path, config.data.path)])
        left_out += search.left_out.total()
    if codec.kind == "audio":
        about, faults = _of_sound(config, corpus, codec)
    else:
        with progress("counting"):
            found, is_list = text.facts(corpus.whole, codec), config.data.document == "line"
        about = {"text": found}
        faults = text.faults(found, codec.kind, config.data.encoding, is_list=is_list)
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
    config: Config, corpus: Corpus, codec: SoundCodec
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
    return {"sound": facts}, sound.faults_of(corpus.whole, codec, config.data, levels)
