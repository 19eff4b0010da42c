"""`doctor`: what some data are like and what to train on them, or how a run went."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from seqkit import compose
from seqkit.advice import faults, recommend, verdict
from seqkit.commands import outputs
from seqkit.config import Config, DataConfig
from seqkit.data import files
from seqkit.data.codecs import Quantiser, SoundCodec
from seqkit.data.corpus import Corpus
from seqkit.data.datasets import Folders
from seqkit.data.file_search import Search
from seqkit.data.load import load_corpus, require_cut
from seqkit.evaluation import baselines
from seqkit.foundation import device, disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console, Progress
from seqkit.foundation.errors import CheckpointError, ConfigError
from seqkit.foundation.ranks import Session
from seqkit.foundation.run_folders import SAVED, RunFiles, require_run
from seqkit.foundation.wording import counted, duration, first_of, visible_line
from seqkit.runs import checkpoint, resume
from seqkit.runs.record import read

_NAME = 16  # columns


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Print what was found, as text or as one JSON object."""
    out = outputs.result_file(config.out, config.data.path, overwrite=config.overwrite)
    if config.run_dir and (config.data.path or config.recipe):
        raise ConfigError("give data.path or recipe to look at data, or run_dir to look at a run")
    if config.run_dir:
        facts, shown = _of_run(Path(config.run_dir), catalogue), _shown_run
    else:
        facts, shown = _of_data(config, catalogue, console), _shown_data
    text = json.dumps(facts) if config.json else shown(facts)
    outputs.write_result(out, text, overwrite=config.overwrite)


def _of_run(path: Path, catalogue: Catalogue) -> dict[str, Any]:
    """What is to be said of the run in a folder. Raises CheckpointError if there is none."""
    require_run(path)
    record, problems = read(path), list[str]()
    for file in filter(Path.exists, map(RunFiles(path).checkpoint, SAVED)):
        try:
            checkpoint.load(file, catalogue)
        except CheckpointError as error:
            problems.append(str(error))
    judged = verdict.judge(record)
    gone = [each for each in record.keys.get("data.path", []) if not Path(each).exists()]
    if judged.command and gone:
        problems.append(f"what it learns from is gone ({first_of(gone)}): add data.path=PLACE")
    try:
        if judged.command:
            resume.find_last(RunFiles(path), catalogue, problems.append)
    except CheckpointError as error:
        judged = judged._replace(advice=str(error), command="")
    step, loss = record.best or (None, None)
    return {
        "run_dir": str(path),
        "state": record.state,
        "step": record.step,
        "train_seconds": record.trained_seconds,
        "best_validation_loss": loss,
        "best_step": step,
        "baselines": verdict.baselines(record),
        **{name: words or None for name, words in judged._asdict().items()},
        "problems": problems,
    }


def _of_data(config: Config, catalogue: Catalogue, console: Console) -> dict[str, Any]:
    if not (config.data.path or config.data.dataset):
        raise ConfigError("no data: give data.path=FILE_OR_FOLDER, or run_dir=FOLDER of a run")
    config.data.path = files.on_disk(config.data.path, console.notice, console.progress)
    config = _with_recipe(config, catalogue, console)
    chosen = device.find_device(config.device, for_all=True)
    session = Session(catalogue, console.notice, console.progress)
    corpus = load_corpus(config.data, session, readings=True)
    require_cut(config.data, corpus.name, len(corpus.files), len(corpus.whole.starts))
    if config.data.kind == "auto":  # the command line to copy says what was found
        config.data.kind = corpus.codec.kind
    faults.require_enough(corpus, config.data.split, config.train, config.recipe)
    with device.memory_errors("Try device=cpu."):
        facts, wrong = _examined(config.data, corpus, console.progress)
    if config.data.path:
        keys = {key: value for fault in wrong for key, value in fault.keys.items()}
        config.init_from = keys.pop("init_from", None)
        config.data = dataclasses.replace(config.data, **keys)
    training, composed = facts["split"]["training"], partial(_of_recipe, catalogue)
    recommended = recommend.advise(config, training, corpus, chosen, composed)
    return {
        **facts,
        "faults": [fault.line for fault in wrong],
        "device": device.describe(chosen),
        "recommendation": recommended,
    }


def _examined(
    data: DataConfig, corpus: Corpus, progress: Progress
) -> tuple[dict[str, Any], list[faults.Fault]]:
    """The facts of data (docs/reference/doctor.md), and what is wrong, the worst first."""
    codec = corpus.codec
    parts = _, validation, _ = corpus.split(data.split)
    left_out = corpus.skipped if codec.kind == "audio" else corpus.unreadable_files
    if data.path:
        search = Search(data, codec.kind)
        search.named([*map(Path, data.path)])
        left_out += search.left_out.total()
    if codec.kind == "audio":
        about, told = _of_sound(data, corpus, codec)
    else:
        with progress("counting"):
            found = faults.text_facts(corpus.whole, codec)
        about = {"text": found}
        told = faults.text_faults(corpus.whole, codec, found, data)
    judged = validation if len(validation) else corpus.whole  # as the run's report does
    with progress("baselines"):
        beside = baselines.baselines(judged, codec, baselines.SAMPLE)
    facts = {
        "data": corpus.record(),
        "kind": codec.kind,
        "symbols": len(corpus.whole),
        "split": dict(zip(("training", "validation", "test"), map(len, parts), strict=True)),
        "files": {
            "count": len(corpus.whole.starts),
            "left_out": left_out,
            "unreadable": corpus.unreadable_files,
        },
        **about,
        "baselines": beside,
    }
    return facts, told


def _of_sound(
    data: DataConfig, corpus: Corpus, codec: SoundCodec
) -> tuple[dict[str, Any], list[faults.Fault]]:
    levels = faults.levels_of(corpus.whole, codec)
    facts = {
        "seconds": len(corpus.whole) / codec.symbol_rate,
        "sample_rate": codec.sample_rate,
        "channels": codec.channels,
        "levels": codec.levels if isinstance(codec, Quantiser) else None,
        "peak": levels.peak,
        "silence": levels.silence,
    }
    return {"sound": facts}, faults.sound_faults(corpus, data, levels)


def _with_recipe(config: Config, catalogue: Catalogue, console: Console) -> Config:
    """The config, on a recipe that fits the data where none is given."""
    if config.recipe:
        return config
    folders = Folders(disk.cache_dir(), console.notice, console.progress)
    recipe = recommend.fitting_recipe(config.data, folders, catalogue)
    words = recommend.data_words(config.data, DataConfig(), config.given)
    base = _of_recipe(catalogue, recipe, *words)
    if base.data.kind != "audio":
        base.data.kind = config.data.kind
    base.train.max_minutes = config.train.max_minutes or base.train.max_minutes
    base.device = config.device
    return base


def _of_recipe(catalogue: Catalogue, recipe: str, *words: str) -> Config:
    """The config of a recipe with words; of one in a `--config-dir`, unknown here, the defaults."""
    plugins = [f"plugins={','.join(catalogue.modules)}"] if catalogue.modules else []
    try:
        return compose.compose([f"recipe={recipe}", *words, *plugins], [])
    except ConfigError:
        return compose.compose([*words, *plugins], [])


def _shown_data(facts: Mapping[str, Any]) -> str:
    """The examination of data in plain lines, everything of the data's own in them escaped."""
    lines = [f"{name:{_NAME}}{visible_line(words)}" for name, words in _rows(facts)]
    wrong = [f"! {visible_line(fault)}" for fault in facts["faults"]]
    lines += ["", *(wrong or ["Nothing is wrong with the data."]), ""]
    recommended = facts["recommendation"]
    if recommended is None:
        return "\n".join([*lines, "There is nothing to train on."])
    lines += ["Train with", f"  {recommended['command']}"]
    if seconds := recommended["seconds"]:
        lines.append(f"It takes {duration(seconds)} (train.max_minutes).")
    return "\n".join(lines)


def _shown_run(facts: Mapping[str, Any]) -> str:
    lines = [visible_line(facts["finding"]), visible_line(facts["advice"])]
    if facts["command"]:
        lines.append(f"  {visible_line(facts['command'])}")
    return "\n".join([*lines, *map(visible_line, facts["problems"])])


def _rows(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What the data are like: a name and words for each thing."""
    about, files = facts["data"], facts["files"]
    size = "" if files["unreadable"] else f", {about['bytes']:,} bytes"  # which has theirs, too
    yield "data", f"{about['name']}{size}, read as {facts['kind']}"
    yield "size", f"{facts['symbols']:,} symbols in {counted(files['count'], 'document')}"
    yield "split", ", ".join(f"{name} {size:,}" for name, size in facts["split"].items() if size)
    if files["left_out"]:
        yield "left out", counted(files["left_out"], "file")
    if text := facts.get("text"):
        vocabulary = text["vocabulary"]
        yield "vocabulary", f"{vocabulary['size']:,} symbols"
    if sound := facts.get("sound"):
        channels = "stereo" if sound["channels"] == 2 else "mono"
        yield "length", f"{duration(sound['seconds'])} at {sound['sample_rate']} Hz, {channels}"
        if sound["peak"] is not None:
            yield "peak", f"{sound['peak']:.3f} ({faults.decibels(sound['peak']):.1f} dB)"
        yield "silence", f"{sound['silence']:.1%}"
    beside, names = facts["baselines"], baselines.NAMES
    known = [f"{name} {beside[key]:.3f}" for key, name in names.items() if key in beside]
    yield "bits a symbol", ", ".join(known)
