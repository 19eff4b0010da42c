"""`doctor`: what some data are like and what to train on them, how a run went, or the device."""

import dataclasses
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from seqkit import compose
from seqkit.advice import recommend, verdict
from seqkit.advice.examine import examine
from seqkit.advice.faults import Fault
from seqkit.advice.kernel import kernel_of
from seqkit.advice.sound import decibels
from seqkit.advice.text import RETURN
from seqkit.commands import outputs
from seqkit.config import Config, DataConfig
from seqkit.data import remote
from seqkit.data.datasets import Folders
from seqkit.data.load import load_corpus, require_cut
from seqkit.evaluation import baselines
from seqkit.foundation import device, disk, machine
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.session import Session
from seqkit.foundation.wording import counted, duration, json_text, rounded, visible_line
from seqkit.runs import named_checkpoint
from seqkit.runs.layout import require_run
from seqkit.runs.record import read

_COUNTS = 12  # symbols that are listed with their counts
_ODD = 8
_NAME = 16  # columns


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Print what was found, as text or as one JSON object."""
    out = outputs.result_file(config)
    if config.run_dir and (config.data.path or config.recipe):
        raise ConfigError("give data.path or recipe to look at data, or run_dir to look at a run")
    if config.run_dir:
        facts, shown = _of_run(Path(config.run_dir)), _shown_run
    elif config.data == DataConfig() and not config.recipe:
        facts, shown = _of_device(config), partial(_shown_device, config)
    else:
        facts, shown = _of_data(config, catalogue, console), _shown_data
    text = json_text(facts) if config.json else shown(facts)
    outputs.write_result(out, text, overwrite=config.overwrite)


def _of_run(path: Path) -> dict[str, Any]:
    """What is to be said of the run in a folder. Raises CheckpointError if there is none."""
    require_run(path)
    record = read(path)
    step, loss = record.best or (None, None)
    return {
        "run_dir": str(path),
        "state": record.state,
        "step": record.metrics.step,
        "train_seconds": record.metrics.seconds,
        "best_validation_loss": loss,
        "best_step": step,
        "baselines": {known.brief: known.nats for known in verdict.baselines(record)},
        **{name: words or None for name, words in verdict.judge(record)._asdict().items()},
        "problems": record.problems,
    }


def _of_device(config: Config) -> dict[str, Any]:
    chosen = device.choose_device(config.device)
    return {"device": device.describe(chosen), "kernel": kernel_of(config, chosen)}


def _of_data(config: Config, catalogue: Catalogue, console: Console) -> dict[str, Any]:
    if not (config.data.path or config.data.dataset):
        raise ConfigError("no data: give data.path=FILE_OR_FOLDER, or run_dir=FOLDER of a run")
    cache = disk.cache_dir()
    paths = remote.read_streams(config.data.path, cache, console.notice, console.progress)
    config.data.path = paths
    config.data = remote.fetch(config.data, cache, console.notice, console.progress)
    given, config = config.recipe, _with_recipe(config, catalogue, console)
    chosen = device.choose_device(config.device)
    on_bad_file = config.data.on_bad_file
    given_paths = config.data.path
    if len(given_paths) != 1 or not Path(given_paths[0]).is_file():  # one is refused, with its hint
        config.data.on_bad_file = "skip"
    session = Session(catalogue, console.notice, console.progress)
    corpus = load_corpus(config.data, session)
    require_cut(config.data, corpus.name, len(corpus.files), len(corpus.whole.starts))
    if not corpus.unreadable_files:
        config.data.on_bad_file = on_bad_file
    unknown = config.data.kind == config.data.codec == "auto" and corpus.codec.kind == "bytes"
    if config.data.kind == "auto":  # the command line to copy says what was found
        config.data.kind = corpus.codec.kind
    with machine.memory_errors("Try device=cpu."):
        facts, faults = examine(config, corpus, console.progress)
        if count := corpus.unreadable_files:
            what = counted(count, "file or folder", "files or folders")
            advised = "a training would end there; data.on_bad_file=skip leaves that out"
            faults.insert(0, Fault(f"{what} cannot be read, see the notice: {advised}"))
        if unknown:
            faults.insert(0, Fault("neither text nor a known format of sound: bytes are learnt"))
        if paths:
            keys = {key: value for fault in faults for key, value in fault.keys.items()}
            config.init_from = keys.pop("init_from", None)
            config.data = dataclasses.replace(config.data, **keys)
            if not given and config.data.document == "line":
                config.recipe = recommend.FOR_LINES
        config.data.path = paths  # the command line to copy has the URL
        training, composed = facts["split"]["training"], partial(config_of_recipe, catalogue)
        start = config.init_from
        saved = named_checkpoint.read(start, catalogue, console.notice) if start else None
        network = saved.model if saved else None
        recommended = recommend.advise(config, training, corpus, chosen, composed, network)
        recipe = composed(recommended["recipe"]) if recommended else config
        recipe.model = network or recipe.model
        kernel = kernel_of(recipe, chosen)
    return {
        **facts,
        "faults": [*map(str, faults)],
        "device": device.describe(chosen),
        "kernel": kernel,
        "recommendation": recommended,
    }


def _with_recipe(config: Config, catalogue: Catalogue, console: Console) -> Config:
    """The config, on a recipe that fits the data where none is given."""
    if config.recipe:
        return config
    folders = Folders(disk.cache_dir(), console.notice, console.progress)
    recipe = recommend.fitting_recipe(config.data, folders, catalogue)
    base = config_of_recipe(catalogue, recipe)
    kind = "audio" if base.data.kind == "audio" else config.data.kind
    minutes = config.train.max_minutes or base.train.max_minutes
    changed = {
        item.name: value
        for item in dataclasses.fields(DataConfig)
        if item.name != "kind"
        and (value := getattr(config.data, item.name)) != getattr(DataConfig(), item.name)
    }
    return dataclasses.replace(
        base,
        data=dataclasses.replace(base.data, **changed, kind=kind),
        train=dataclasses.replace(base.train, max_minutes=minutes),
        device=config.device,
    )


def config_of_recipe(catalogue: Catalogue, recipe: str) -> Config:
    """The config of a recipe as it is; of one in a `--config-dir`, unknown here, the defaults."""
    plugins = [f"plugins={','.join(catalogue.modules)}"] if catalogue.modules else []
    try:
        return compose.compose([f"recipe={recipe}", *plugins], []).config
    except ConfigError:
        return compose.compose(plugins, []).config


def _shown_data(facts: Mapping[str, Any]) -> str:
    """The examination of data in plain lines, everything of the data's own in them escaped."""
    lines = [*_sizes(facts)]
    lines += _text(facts["text"], facts["kind"]) if "text" in facts else _sound(facts["sound"])
    lines += _baselines(facts["baselines"])
    faults = [f"! {visible_line(fault)}" for fault in facts["faults"]]
    lines += ["", *(faults or ["Nothing is wrong with the data."]), ""]
    recommended = facts["recommendation"]
    if recommended is None:
        return "\n".join([*lines, "There is nothing to train on."])
    seconds = recommended["seconds"]
    ends = f"; budget {duration(seconds)} (train.max_minutes)" if seconds else ""
    size = f"about {recommended['parameters'] / 1e6:.2g} million parameters{ends}."
    lines += ["Train with", f"  {recommended['command']}", size]
    return "\n".join([*lines, *([f"Layers: {facts['kernel']}."] if facts["kernel"] else [])])


def _shown_device(config: Config, facts: Mapping[str, Any]) -> str:
    lines = [_row("device", facts["device"])]
    if facts["kernel"]:
        of = f"Layers of {config.model.hidden_size} units in {config.train.batch_size} lanes"
        lines.append(f"{of}: {facts['kernel']}.")
    lines.append("Give data.path=FILE_OR_FOLDER, or run_dir=FOLDER of a run, to look at it.")
    return "\n".join(lines)


def _shown_run(facts: Mapping[str, Any]) -> str:
    """How a run went."""
    recital = visible_line(facts["recital"] or "")
    lines = [f"The closing sample: {recital}.", ""] if recital else []
    lines += [visible_line(facts["finding"]), visible_line(facts["advice"])]
    if facts["command"]:
        lines.append(f"  {visible_line(facts['command'])}")
    return "\n".join([*lines, *map(visible_line, facts["problems"])])


def _row(name: str, value: str) -> str:
    return f"{name:{_NAME}}{visible_line(value)}"


def _sizes(facts: Mapping[str, Any]) -> Iterator[str]:
    about, files, split = facts["data"], facts["files"], facts["split"]
    yield _row("data", f"{about['name']}, {about['bytes']:,} bytes, read as {facts['kind']}")
    documents = counted(files["count"], "document")
    yield _row("size", f"{facts['symbols']:,} symbols in {documents}")
    shares = ", ".join(f"{name} {size:,}" for name, size in split.items() if size)
    yield _row("split", shares)
    if left_out := files["left_out"]:
        yield _row("left out", counted(left_out, "file"))


def _text(facts: Mapping[str, Any], kind: str) -> Iterator[str]:
    vocabulary, lines, repeated = facts["vocabulary"], facts["lines"], facts["repeated"]
    yield _row("vocabulary", f"{vocabulary['size']:,} symbols, {vocabulary['rare']:,} of them rare")
    most = [("space" if name == " " else name, n) for name, n in vocabulary["counts"][:_COUNTS]]
    yield _row("most frequent", "  ".join(f"{name} {rounded(n)}" for name, n in most))
    odd = [entry for entry in vocabulary["odd"] if entry["code_point"] != RETURN]  # a fault has it
    for entry in odd[:_ODD]:
        name = f"{entry['code_point']} {entry['name']}".strip()
        yield _row("odd", f"{name}, {entry['kind']}: {entry['count']:,}")
    if kind == "text":
        yield _row("lines", f"{lines['count']:,}, the longest of {lines['longest']:,} symbols")
    share, sample = repeated["share"], rounded(repeated["sample"])
    yield _row("repeated", f"{share:.1%} of passages of 32 symbols (in {sample} symbols)")


def _sound(facts: Mapping[str, Any]) -> Iterator[str]:
    yield _row("length", f"{duration(facts['seconds'])} at {facts['sample_rate']} Hz")
    if "rates" in facts:
        yield _row("rates", ", ".join(f"{rate} Hz: {n}" for rate, n in facts["rates"].items()))
        channels = (f"{count}: {n}" for count, n in facts["channels"].items())
        yield _row("channels", ", ".join(channels))
        yield _row("clipped", f"{facts['clipped']:.3%}")
    yield _row("peak", f"{facts['peak']:.3f} ({decibels(facts['peak']):.1f} dB)")
    yield _row("offset (DC)", f"{facts['offset']:z.4f}")
    yield _row("silence", f"{facts['silence']:.1%}")
    if facts["snr_db"] is not None:
        yield _row("quantiser", f"{facts['snr_db']:.1f} dB with {facts['levels']} levels")


def _baselines(facts: Mapping[str, Any]) -> Iterator[str]:
    names = baselines.names()
    known = [f"{name.brief} {facts[key]:.3f}" for key, name in names.items() if key in facts]
    yield _row("bits a symbol", ", ".join(known))
    part = "the validation part" if facts["part"] == "validation" else "all of the data"
    cut = facts["sample"] < facts["symbols"]
    begin = f"the first {rounded(facts['sample'])} symbols of " if cut else ""
    yield _row("", f"without a network, in {begin}{part}")
