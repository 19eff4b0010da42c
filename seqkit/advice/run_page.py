"""A run's record becomes one file of HTML that loads nothing, while it trains and after it."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from markupsafe import Markup

from seqkit.advice import charts, html, verdict
from seqkit.advice.diagnosis import baselines, noun
from seqkit.advice.html import Titled
from seqkit.foundation import disk, templates
from seqkit.foundation.config_file import to_yaml
from seqkit.foundation.wording import counted, decimals, duration, visible, visible_line
from seqkit.runs.events import THE_SEARCH, Diverged, Event, Finished, Started, Stopped
from seqkit.runs.folder import RunFolder
from seqkit.runs.layout import RunFiles, require_run
from seqkit.runs.record import Record, State, read
from seqkit.training.events import Stepped, Validated

_CURVE = 6  # points at least: fewer tell nothing that the loss does not
_LONGEST = 2000  # characters of a name or a message
_MOST = 60
"""Samples on a page. A WAV of one second at the highest rate has 96 kB: 60 in base64 have 8 MB."""
_SHARE = 0.01  # of the training's time, for pages while it goes on
_FIRST = 0.1  # seconds that the first page is expected to take
_STATES = {"pruned": "ended by the search", "ended": "not finished"}


def write(path: Path, state: State | None = None) -> Path:
    """Write report.html of the run in a folder; its state, if it is not given, is found out.

    Raises:
        CheckpointError: there is no run.
        OutputError: the page cannot be written.
    """
    require_run(path)
    return _save(read(path, state))


def _save(record: Record) -> Path:
    page, file = render(record), RunFiles(record.path).report
    with disk.atomic_write(file) as stream:
        stream.write(page)
    return file


def render(record: Record) -> bytes:
    """The page of a run."""
    texts, sounds = _titled(record, ".txt"), _sounds(record)
    values = {
        "name": visible_line(str(record.path)),
        "state": _STATES.get(record.state, record.state),
        "written": time.strftime("%Y-%m-%d %H:%M"),
        "verdict": verdict.judge(record),
        "problems": [_short(problem) for problem in record.problems],
        "noun": noun(record),
        "standing": _standing(record),
        "charts": _charts(record),
        "texts": [html.text(*sample) for sample in html.spread(texts, _MOST)],
        "text_count": len(texts),
        "sounds": html.sounds(html.spread(sounds, _MOST)),
        "sound_count": len(sounds),
        "facts": [(name, _short(value)) for name, value in _facts(record).items() if value],
        "again": verdict.again(record),
        "settings": visible(to_yaml(record.settings)) if record.settings else "",
    }
    return templates.render(Path(__file__).with_suffix(".html"), values)


def _short(text: str) -> str:
    """A text from a file, of which more is not worth showing."""
    return visible(text[:_LONGEST]) + ("…" if len(text) > _LONGEST else "")


def _standing(record: Record) -> list[tuple[str, str, str]]:
    """Rows of name, nats and bits, the best last."""
    metrics = record.metrics
    rows = [(baseline.name, baseline.nats) for baseline in baselines(record)]
    if len(metrics.train["loss"].values):
        rows.append(("this network, in training", float(metrics.train["loss"].values[-1])))
    if len(metrics.validation.values):
        rows.append(("this network, on validation data", float(metrics.validation.values.min())))
    return [
        (name, decimals(nats, 3), decimals(nats / math.log(2), 3))
        for name, nats in sorted(rows, key=lambda row: -row[1])
    ]


def _charts(record: Record) -> list[tuple[str, Markup]]:
    """Titles and pictures: the loss, if there is one, and what else has the points of a curve."""
    metrics, train = record.metrics, record.metrics.train
    pictures = []
    if len(train["loss"].steps) or len(metrics.validation.steps):
        lines = {baseline.brief: baseline.nats for baseline in baselines(record)}
        loss = charts.loss_chart(train["loss"], metrics.validation, lines)
        pictures.append(("Loss, nats a symbol", loss))
    for name, title in (
        ("learning_rate", "Learning rate"),
        ("gradient_norm", "Norm of the gradient, before clipping"),
        ("symbols_per_second", f"Speed, {noun(record)}s a second"),
    ):
        if len(train[name].steps) >= _CURVE:
            logarithmic = name == "gradient_norm"
            pictures.append((title, charts.curve_chart(train[name], logarithmic=logarithmic)))
    return pictures


def _titled(record: Record, suffix: str) -> list[Titled]:
    """The samples with this suffix by step, each with its validation loss."""
    validation = record.metrics.validation
    loss = {int(s): f", loss {v:.3f}" for s, v in zip(*validation, strict=True)}
    return [
        (f"step {step:,}{loss.get(step, '')}", file)
        for step, file in record.samples
        if file.suffix == suffix
    ]


def _sounds(record: Record) -> list[Titled]:
    """The data's own sound first, to which the samples are compared, and the closing one last."""
    files = _titled(record, ".wav")
    files += [("the closing sample", record.final)] if record.final else []
    if files and record.data:
        files.insert(0, ("the data itself", record.data))
    return files


def _facts(record: Record) -> dict[str, str]:
    settings, metrics = record.settings, record.metrics
    symbols, size = record.number("data", "symbols"), record.number("data", "vocabulary")
    total, parameters = record.number("total_steps"), record.number("parameters")
    network = ""
    if settings:
        model = settings.model
        layers = counted(model.num_layers, "layer")
        network = f"{model.cell}, {layers} of {model.hidden_size} units, dropout {model.dropout:g}"
    versions = {name: record.text("versions", name) for name in ("seqkit", "torch", "python")}
    return {
        "recipe": settings.recipe or "" if settings else "",
        "data": record.text("data", "name"),
        "size": f"{symbols:,.0f} {noun(record)}s, {size:,.0f} distinct" if symbols and size else "",
        "labels": record.text("data", "labels"),
        "sha256": record.text("data", "sha256"),
        "licence": record.text("data", "licence"),
        "source": record.text("data", "citation"),
        "network": network,
        "parameters": f"{parameters:,.0f}" if parameters else "",
        "device": record.text("device"),
        "precision": record.text("dtype"),
        "steps": f"{metrics.step:,}" + (f" of {total:,.0f}" if total else ""),
        "time": duration(record.seconds or 0),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items() if version),
    }


class Report:
    """about.json when a run begins or ends early, report.html after validations and at the end.

    A page at a validation that would cost more than its share of the time is left out. Where the
    run stands badly, that is told once, when a page is written.
    """

    def __init__(
        self,
        folder: RunFolder,
        about: Callable[[], dict[str, Any]],
        notice: Callable[[str], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`about` is what about.json says of the run; `notice` hears where run and page are."""
        self._folder = folder
        self._make_about = about
        self._about: dict[str, Any] = {}
        self._notice = notice
        self._clock = clock
        self._written = clock()  # when the last page was, or the training began
        self._page = _FIRST  # seconds that the last page took
        self._due = False
        self._warned = False

    def __call__(self, event: Event) -> None:
        """Write what is due; what fails is told, and ends no training."""
        try:
            self._follow(event)
        except Exception as error:
            self._notice(f"no report: {error}")

    def _follow(self, event: Event) -> None:
        match event:
            case Started():
                self._about = self._make_about()
                self._folder.write_about({**self._about, "ended": None})
            case Validated():
                self._due = True
            case Stepped() if self._due:  # the sample of this validation is there by now
                self._due = False
                if self._clock() - self._written >= self._page / _SHARE:
                    self._write("running")
            case Stopped():
                self._end("pruned" if event.reason == THE_SEARCH else "stopped", event.step)
            case Diverged():
                self._end("diverged", event.step)
            case Finished():
                self._write("finished")
                self._notice(f"report: {self._folder.files.report}")

    def _end(self, state: State, step: int) -> None:
        self._folder.write_about({**self._about, "ended": {"how": state, "step": step}})
        self._write(state)

    def _write(self, state: State) -> None:
        begun = self._clock()
        self._folder.check_own()
        record = read(self._folder.path, state)
        ends_early = state not in ("running", "finished")
        if not self._warned and not ends_early and (said := verdict.warning(record)):
            self._warned = True
            self._notice(said)
        _save(record)
        self._written = self._clock()
        self._page = self._written - begun
