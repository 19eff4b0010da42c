"""What `doctor` found, for people: plain lines, everything of the data's own in them escaped."""

from collections.abc import Iterator, Mapping
from typing import Any

from seqkit.doctor.levels import decibels
from seqkit.doctor.text_faults import RETURN
from seqkit.evaluation import baseline_names
from seqkit.foundation.escaping import visible_line
from seqkit.foundation.wording import counted, duration, rounded

_COUNTS = 12  # symbols that are listed with their counts
_ODD = 8
_NAME = 16  # columns


def data(found: Mapping[str, Any]) -> str:
    """The examination of data, see `examine.examine` and `advice.advise`."""
    lines = [*_data(found)]
    lines += _text(found["text"], found["kind"]) if "text" in found else _sound(found["sound"])
    lines += _baselines(found["baselines"])
    lines += ["", *_faults(found["faults"]), "", *_recommended(found["recommendation"])]
    return "\n".join(lines)


def run(found: Mapping[str, Any]) -> str:
    """How a run went, see `verdict.of_folder`."""
    lines = [visible_line(found["finding"]), visible_line(found["advice"])]
    if found["command"]:
        lines.append(f"  {visible_line(found['command'])}")
    return "\n".join([*lines, *map(visible_line, found["problems"])])


def _row(name: str, value: str) -> str:
    return f"{name:{_NAME}}{visible_line(value)}"


def _data(found: Mapping[str, Any]) -> Iterator[str]:
    about, files, split = found["data"], found["files"], found["split"]
    yield _row("data", f"{about['name']}, {about['bytes']:,} bytes, read as {found['kind']}")
    documents = counted(files["count"], "document")
    yield _row("size", f"{found['symbols']:,} symbols in {documents}")
    shares = ", ".join(f"{name} {size:,}" for name, size in split.items() if size)
    yield _row("split", shares)
    if left_out := files["left_out"]:
        yield _row("left out", counted(left_out, "file"))
    if twice := len(files["duplicates"]):
        yield _row("there twice", counted(twice, "file"))
    if empty := len(files["nearly_empty"]):
        yield _row("nearly empty", counted(empty, "file"))


def _text(found: Mapping[str, Any], kind: str) -> Iterator[str]:
    vocabulary, lines, repeated = found["vocabulary"], found["lines"], found["repeated"]
    yield _row("vocabulary", f"{vocabulary['size']:,} symbols, {vocabulary['rare']:,} of them rare")
    most = vocabulary["counts"][:_COUNTS]
    yield _row("most frequent", "  ".join(f"{_symbol(name)} {rounded(n)}" for name, n in most))
    odd = [entry for entry in vocabulary["odd"] if entry["code_point"] != RETURN]  # a fault has it
    for entry in odd[:_ODD]:
        name = f"{entry['code_point']} {entry['name']}".strip()
        yield _row("odd", f"{name}, {entry['kind']}: {entry['count']:,}")
    if kind == "text":
        yield _row(
            "lines",
            f"{lines['count']:,}; {lines['median']:,} symbols in the middle, 95 % have at most "
            f"{lines['95_percent']:,}, the longest {lines['longest']:,}",
        )
    share, sample = repeated["share"], rounded(repeated["sample"])
    yield _row("repeated", f"{share:.1%} of passages of 32 symbols (in {sample} symbols)")


def _symbol(name: str) -> str:
    return "space" if name == " " else visible_line(name)


def _sound(found: Mapping[str, Any]) -> Iterator[str]:
    yield _row("length", f"{duration(found['seconds'])} at {found['sample_rate']} Hz")
    if "rates" in found:
        yield _row("rates", ", ".join(f"{rate} Hz: {n}" for rate, n in found["rates"].items()))
        channels = (f"{count}: {n}" for count, n in found["channels"].items())
        yield _row("channels", ", ".join(channels))
        yield _row("clipped", f"{found['clipped']:.3%}")
    yield _row("peak", f"{found['peak']:.3f} ({decibels(found['peak']):.1f} dB)")
    yield _row("offset (DC)", f"{found['offset']:z.4f}")
    yield _row("silence", f"{found['silence']:.1%}")
    if found["snr_db"] is not None:
        yield _row("quantiser", f"{found['snr_db']:.1f} dB with {found['levels']} levels")
    if noise := found.get("snr_of_256_levels_db"):
        told = [
            f"{name.replace('_', '-')} {noise[name]:.1f} dB"
            for name in ("mu_law", "linear")
            if noise[name] is not None
        ]
        sample = f" (in {rounded(noise['sample'])} samples)"
        if told:
            yield _row("256 levels", ", ".join(told) + sample)


def _baselines(found: Mapping[str, Any]) -> Iterator[str]:
    names = baseline_names.names()
    known = [f"{name.brief} {found[key]:.3f}" for key, name in names.items() if key in found]
    yield _row("bits a symbol", ", ".join(known))
    part = "the validation part" if found["part"] == "validation" else "all of the data"
    cut = found["sample"] < found["symbols"]
    begin = f"the first {rounded(found['sample'])} symbols of " if cut else ""
    yield _row("", f"without a network, in {begin}{part}")


def _faults(faults: list[str]) -> list[str]:
    if not faults:
        return ["Nothing is wrong with the data."]
    return [f"! {visible_line(fault)}" for fault in faults]


def _recommended(found: Mapping[str, Any] | None) -> Iterator[str]:
    if found is None:
        yield "There is nothing to train on."
        return
    yield "Train with"
    yield f"  {found['command']}"
    ends = f"; about {duration(found['seconds'])}" if found["seconds"] else ""
    yield f"{found['parameters']:,} weights{ends}."
