"""The data of a training, read as its config and the weights that it starts from want it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from seqkit.config import Config, DataConfig
from seqkit.data import remote
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.data.load import load_corpus
from seqkit.data.shards import opened
from seqkit.doctor import sound
from seqkit.doctor.faults import CONSTANT
from seqkit.foundation import disk
from seqkit.foundation.console import Progress
from seqkit.foundation.plugins import Catalogue
from seqkit.foundation.wording import duration
from seqkit.runs import named_checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.stages import build_network

_MOST_FAULTS = 2  # of the data, the worst, that a training tells; `doctor` tells all
_PATIENCE_OF_A_SAMPLE = 2  # validations: the recipe is for a text many times as long
_UNEVEN = 0.5  # of the share for validation; what differs by more is told


def locate(config: Config, notice: Callable[[str], None], progress: Progress) -> list[str]:
    """The local paths of the data, with streams and URLs copied to files of the cache.

    In `config` the paths become absolute, because a run may be resumed from another folder, files
    of the cache take the place of streams, and the keys that shards were made with are filled in.
    URLs stay, so that a run goes on where the cache has no copy. Raises DataError.
    """
    prompt = [] if config.prompt_file is None else [config.prompt_file]
    wanted = [*config.data.path, *prompt]  # each is read once
    files = remote.read_streams(wanted, disk.cache_dir(), notice, progress)
    config.data.path = files[: len(config.data.path)]
    if prompt:
        config.prompt_file = files[-1]
    config.data.path = remote.absolute(config.data)
    config.init_from = config.init_from and named_checkpoint.absolute(config.init_from)
    for key in ("prompt_file", "prompt_audio"):
        if path := getattr(config, key):
            setattr(config, key, str(Path(path).absolute()))
    here = remote.fetch(config.data, disk.cache_dir(), notice, progress)
    config.data = opened.settled(config.data)
    return here.path


def read(
    config: Config,
    here: list[str],
    origin: Checkpoint | None,
    saved: Checkpoint | None,
    catalogue: Catalogue,
    notice: Callable[[str], None],
    progress: Progress,
) -> tuple[Corpus, Checkpoint | None]:
    """The corpus, and the checkpoint to start from, grown by what is new in the data.

    Args:
        config: of the training.
        here: the local paths of its data.
        origin: what the weights come from: `saved`, another run's checkpoint, or nothing.
        saved: the last checkpoint of the run that is resumed.
        catalogue: where data sets and codecs are looked for.
        notice: tells the user.
        progress: shows how far the data was read.

    Raises:
        DataError: the data cannot be read.
        ConfigError: keys that do not fit the checkpoint.
    """
    fine_tuned = origin if saved is None else None
    if fine_tuned:
        asked, config.data = config.data, fine_tuned.as_read(config.data)
        if asked.newline != config.data.newline:
            notice(f"data.newline={config.data.newline}, as in the training of the checkpoint")
        if fine_tuned.codec.kind == "text" and 0 < asked.max_vocabulary < fine_tuned.codec.size:
            notice(f"all {fine_tuned.codec.size} characters that the checkpoint knows are kept")
    # New characters get symbols, if there is a limit up to that; or else data.unknown counts.
    grows = config.data.unknown == "error" or config.data.max_vocabulary > 0
    corpus = load_corpus(
        dataclasses.replace(config.data, path=here),
        catalogue=catalogue,
        notice=notice,
        codec=origin.codec if origin else None,
        trained=fine_tuned.config if fine_tuned else None,  # a resumed run's were compared before
        grow=saved is None and grows,
        samples=saved is None or saved.of_a_sample,
        progress=progress,
        known=origin.labels if origin else None,
    )
    if saved is not None and saved.data.get("stands_in"):
        corpus = dataclasses.replace(corpus, stand_in=Path(config.data.path[0]))
    if corpus.stand_in:  # the run goes on with it when the data set can be had, too
        config.data.path = [str(corpus.stand_in)]
        if not config.train.patience:
            config.train.patience = _PATIENCE_OF_A_SAMPLE
            if saved is None:
                notice(
                    "the sample is small: the training ends after "
                    f"{_PATIENCE_OF_A_SAMPLE} validations in a row without improvement "
                    f"(train.patience={_PATIENCE_OF_A_SAMPLE})"
                )
    if fine_tuned:
        ends, seed = config.model.ends, config.fixed_seed
        origin = build_network.grown(fine_tuned, corpus, ends, seed, notice)
    if saved is None:
        for fault in sound.faults_of(corpus)[:_MOST_FAULTS]:
            notice(str(fault))
        if uneven := uneven_split(corpus, config.data):
            notice(uneven)
        if corpus.codec.kind != "audio" and corpus.whole.is_constant:
            notice(CONSTANT)
    return corpus, origin


def with_counts(corpus: Corpus, training: Part, notice: Callable[[str], None]) -> Corpus:
    """The corpus with its labels counted in the training part; what that lacks is told."""
    if corpus.labels is None or training.labels is None:
        return corpus
    labels = corpus.labels.counted(training.labels)
    notice(f"labels (data.label): {labels.summary}")
    learnt = {pair for number in labels.counts for pair in labels.of_number(number).items()}
    missing = [v for name, own in labels.values.items() for v in own if (name, v) not in learnt]
    if missing:
        shown = ", ".join(missing[:_MOST_FAULTS]) + (" …" if len(missing) > _MOST_FAULTS else "")
        notice(f"the training part has no document labelled {shown}: these are not learnt")
    return dataclasses.replace(corpus, labels=labels)


def uneven_split(corpus: Corpus, data: DataConfig) -> str:
    """What is told where whole files of sound make another validation part than was asked for."""
    codec, asked = corpus.codec, data.split[1]
    own_parts = corpus.validation_start is not None or corpus.test_start is not None
    if not isinstance(codec, Quantiser) or not corpus.whole_documents or own_parts or not asked:
        return ""
    validation, whole = corpus.split(data.split)[1], corpus.whole
    kept = len(validation) / len(whole)
    if abs(kept - asked) <= asked * _UNEVEN:
        return ""
    rate = codec.symbol_rate
    return (
        f"{duration(len(validation) / rate)} of {duration(len(whole) / rate)} of sound are kept "
        f"for validation ({100 * kept:.1f} %, data.split asks for {100 * asked:g} %), since whole "
        "files are: cut them into shorter ones, or give another data.split (1,0,0: none is kept)"
    )
