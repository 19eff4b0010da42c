"""A run's record becomes one file of HTML that loads nothing."""

import base64
import contextlib
import io
import time
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.advice import verdict
from seqkit.data.files import BadFileError
from seqkit.data.sound import reader, writer
from seqkit.foundation import disk, wording
from seqkit.foundation.run_folders import RunFiles, require_run
from seqkit.foundation.wording import duration, visible, visible_line
from seqkit.runs.record import Record, State, read

_LONGEST = 2000  # characters of a name or a message
_LONGEST_TEXT = 20_000  # bytes of a sample
_LONGEST_SOUND = 6.0  # seconds of a sample
_MOST = 24  # samples on a page: with 6 s of sound and a picture each it has about 20 MB
_FACTS = {
    "data": ("data", "name"),
    "labels": ("data", "labels"),
    "sha256": ("data", "sha256"),
    "device": ("device",),
    "precision": ("dtype",),
}
"""Where the facts of a run have what a page shows."""
_AT_THE_RIGHT: dict[str, Any] = {"ha": "right", "va": "bottom"}
_GREY = "#808080"  # legible on light and on dark paper
_IN_GREY = "text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"
_ON_PAPER: dict[Any, Any] = {
    **{"svg.fonttype": "none", "svg.hashsalt": "seqkit", "font.size": 11},
    **dict.fromkeys(_IN_GREY, _GREY),
}


def write(path: Path, state: State | None = None) -> Path:
    """Write report.html of the run in a folder; its state, if it is not given, is found out.

    Raises:
        CheckpointError: there is no run.
        OutputError: the page cannot be written.
    """
    require_run(path)
    file = RunFiles(path).report
    disk.write(file, render(read(path, state)))
    return file


def render(record: Record) -> bytes:
    """The page of a run."""
    samples = _samples(record)
    places = np.linspace(0, len(samples) - 1, min(_MOST, len(samples))).round().astype(int)
    losses = _curves(record)
    values = {
        "name": visible_line(str(record.path)),
        "state": record.state,
        "written": time.strftime("%Y-%m-%d %H:%M"),
        "verdict": verdict.judge(record),
        "losses": _url("image/svg+xml", losses) if losses else "",
        "samples": [_shown(*samples[place]) for place in places],
        "sample_count": len(samples),
        "facts": [(name, _short(value)) for name, value in _facts(record).items() if value],
        "settings": visible(record.settings),
    }
    return wording.page(Path(__file__).with_suffix(".html"), values)


def _curves(record: Record) -> bytes:
    """An SVG of a run's losses for its page, whatever its paper; empty if there are none."""
    import matplotlib
    from matplotlib.figure import Figure

    train, validation, lines = record.train, record.validation, verdict.baselines(record)
    seen = [*train.values.tolist(), *validation.values.tolist()]
    if not seen:
        return b""
    # A loss that explodes must not flatten the rest.
    highest = min(max(seen), 1.5 * max([*lines.values(), seen[0]]))
    with matplotlib.rc_context(_ON_PAPER):
        figure = Figure(figsize=(11, 4), layout="tight")
        panel = figure.subplots()
        panel.plot(*train, linewidth=1, label="training")
        panel.plot(*validation, marker=".", label="validation")
        for name, nats in lines.items():
            if nats <= highest:
                panel.axhline(nats, color=_GREY, linestyle="--", linewidth=1)
                panel.text(1, nats, name, **_AT_THE_RIGHT, transform=panel.get_yaxis_transform())
        panel.set(ylim=(None, 1.05 * highest), xlabel="step", ylabel="nats per symbol")
        panel.legend(frameon=False)
        panel.grid(alpha=0.3)
        content, dateless = io.BytesIO(), {"Date": None}  # the same values give the same file
        figure.savefig(content, format="svg", metadata=dateless, transparent=True)
        return content.getvalue()


def _short(text: str) -> str:
    """A text from a file, of which more is not worth showing."""
    return visible(text[:_LONGEST]) + ("…" if len(text) > _LONGEST else "")


def _samples(record: Record) -> list[tuple[str, Path]]:
    """Titles and files: the data's own sound first, then by step, and the closing one last."""
    loss = {int(s): f", loss {v:.3f}" for s, v in zip(*record.validation, strict=True)}
    files = [(f"step {step:,}{loss.get(step, '')}", file) for step, file in record.samples]
    files += [("the closing sample", record.final)] if record.final else []
    return [("the data itself", record.data), *files] if files and record.data else files


def _shown(title: str, file: Path) -> dict[str, str]:
    """A sample as far as it is shown: its text, or its sound and the picture beside it."""
    if file.suffix == ".wav":
        try:
            wave = writer.whole_wav(*reader.read_whole(file, _LONGEST_SOUND))
        except BadFileError as error:
            return {"title": title, "text": visible(str(error))}
        picture = ""
        with contextlib.suppress(OSError):
            picture = _url("image/png", file.with_suffix(".png").read_bytes())
        return {"title": title, "audio": _url("audio/wav", wave), "picture": picture}
    try:
        with file.open("rb") as stream:
            content = stream.read(_LONGEST_TEXT + 1)
    except OSError as error:
        return {"title": title, "text": f"({disk.describe(error)})"}
    more = "…" if len(content) > _LONGEST_TEXT else ""
    text = content[:_LONGEST_TEXT].decode("utf-8", "replace").replace("\r\n", "\n")
    return {"title": title, "text": visible(text) + more}


def _url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _facts(record: Record) -> dict[str, str]:
    total, parameters = record.number("total_steps"), record.number("parameters")
    temperature = record.number("temperature")
    versions = {name: record.text("versions", name) for name in ("seqkit", "torch", "python")}
    return {
        **{name: record.text(*place) for name, place in _FACTS.items()},
        "parameters": f"{parameters:,.0f}" if parameters else "",
        "steps": f"{record.step:,}" + (f" of {total:,.0f}" if total else ""),
        "temperature": "" if temperature is None else f"{temperature:g}",
        "time": duration(record.seconds or 0),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items() if version),
    }
