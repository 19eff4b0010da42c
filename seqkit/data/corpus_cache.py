"""Files as one row of symbols in the cache, which is mapped into memory, and its layout.

`KEY.npy` has the symbols, `KEY.npz` the layout, which is written last. Neither has its name before
it is whole. What cannot be written there stays in memory.
"""

import contextlib
import hashlib
import io
import json
import time
import zipfile
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seqkit.data import codecs
from seqkit.data.codec_choice import choose_codec, nothing_left
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.data.files import Findings, Meter, Sink, digest_of
from seqkit.data.sound_encoder import encode_sound
from seqkit.data.source import Source
from seqkit.data.text_encoder import encode_text, pieces_of
from seqkit.foundation import disk
from seqkit.foundation.errors import DataError, OutputError
from seqkit.foundation.session import Notice
from seqkit.foundation.wording import first_of
from seqkit.symbols import Integers, Symbols, symbol_dtype

_FORMAT = 15  # of the cached files; what is chosen otherwise changes their key, too
_OF_SOUND = ("channel", "on_bad_file")
_OF_TEXT = ("unknown", "newline", "leave_out", "document", "on_bad_file", "encoding", "kind")
"""The keys that symbols of a codec depend on, beside the codec."""
_OLD = 30 * 24 * 3600.0  # seconds, after which data are encoded, and kernels compiled, anew
_SHOWN = 12  # digits of a sha256


@dataclass(frozen=True)
class Layout:
    """What is known of a row of symbols.

    starts: of its documents, (D,).
    size: how many symbols there are.
    sha256: of each file's content, by the names of all files.
    documents: how many documents those have of which something is left.
    parts: where the data set's own parts begin, of 1 (validation) and 2 (test).
    notes: what the user is told about it.
    skipped, unreadable, snr: as in `Corpus`, but for files that the search left out.
    """

    starts: Integers
    size: int
    sha256: dict[str, str]
    documents: dict[str, int]
    parts: dict[str, int]
    notes: list[str]
    skipped: int
    unreadable: int
    snr: float | None


def load(
    source: Source,
    *,
    cache: Path,
    meter: Meter,
    notice: Notice,
    codec: Codec | None = None,
    grow: bool = False,
) -> Corpus:
    """The corpus of files, and of those that are chosen in folders.

    Args:
        source: the files, and the keys by which they are read.
        cache: the folder for encoded data.
        meter: shows how far they were read.
        notice: is told where the cache cannot be written to.
        codec: encode with this one; by default one as configured, which fits them.
        grow: give that codec symbols for what is new in a text.

    Raises:
        DataError: a file cannot be read, or changed; or nothing is left.
        ConfigError: keys that do not fit the codec.
    """
    folder = cache / "corpora"
    if codec is None or grow:
        codec = _fitted(source, folder, meter, codec)
    else:
        codec = choose_codec(source, meter, codec)
    keys = _OF_SOUND if source.is_sound else _OF_TEXT
    settings = {key: getattr(source.config, key) for key in keys}
    place = folder / _digest(source, settings, codec.kind, *_parts_of(codec))
    kept = _kept(place, meter)
    if kept is None:
        try:
            kept = _written(place, source, codec, meter)
            evict(cache)
        except OutputError as error:
            notice(f"{error}; the data stay in memory")
            memory = io.BytesIO()
            layout = encode(source, codec, memory, meter)
            kept = np.frombuffer(memory.getbuffer(), symbol_dtype(codec.size)), layout
    return corpus_of(source, codec, *kept)


def evict(cache: Path) -> None:
    """Remove old corpora and kernels: most of them are of no use any more."""
    for path in chain.from_iterable((cache / name).glob("*") for name in ("corpora", "kernels")):
        with contextlib.suppress(OSError, OutputError):
            if time.time() - path.stat().st_mtime > _OLD:
                remove = disk.remove_folder if path.is_dir() else disk.remove
                remove(path)


def _fitted(source: Source, folder: Path, meter: Meter, codec: Codec | None) -> Codec:
    """The codec for the files, as it was found before or is found now; a given one grows."""
    config, name = {**asdict(source.config), "path": []}, source.config.codec
    given = [] if codec is None else _parts_of(codec)
    kind = None if codec or name == "auto" else codecs.find(name, source.catalogue)
    memory = folder / _digest(source, config, given, kind and codecs.fingerprint(kind))
    with contextlib.suppress(ValueError):  # a plug-in's codec may have changed
        if known := _read(memory):
            return codecs.from_spec(known["facts"]["codec"], source.catalogue)
    spec = codecs.spec_of(choose_codec(source, meter, codec, grow=True))
    with contextlib.suppress(OutputError):
        _save(memory, {"codec": spec})
    return codecs.from_spec(spec, source.catalogue)


def _digest(source: Source, *values: object) -> str:
    """What changes with the files, and with JSON values. Raises BadFileError."""
    files = {
        name: [str(source.files[name].absolute()), *now] for name, now in source.stamps.items()
    }
    parts = source.located.validation, source.located.test
    content = [_FORMAT, files, parts, [*map(str, source.search.errors)], values]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def _parts_of(codec: Codec) -> list[Any]:
    """What the symbols of a codec depend on beside the files and how they are read."""
    with codecs.failures(type(codec), "to_spec"):
        return [codec.to_spec(), codecs.fingerprint(type(codec))]


def _kept(place: Path, meter: Meter) -> tuple[Symbols, Layout] | None:
    """What the cache has of a corpus; None if it is not there, or damaged."""
    known, file = _read(place), place.with_suffix(".npy")
    if known is None:
        return None
    try:
        symbols = np.asarray(np.load(file, mmap_mode="r"))
        facts = known.pop("facts")
        with meter.shown("checking the cache", file.stat().st_size):
            if digest_of(file, meter.add) != facts.pop("digest"):
                return None
        return symbols, Layout(**known, **facts)
    except (DataError, OSError, EOFError, ValueError, KeyError, TypeError):
        return None


def _written(place: Path, source: Source, codec: Codec, meter: Meter) -> tuple[Symbols, Layout]:
    """Encode the files into the cache. Raises OutputError and as `encode` does."""
    file, dtype = place.with_suffix(".npy"), symbol_dtype(codec.size)

    def header(size: int) -> dict[str, Any]:
        return {"descr": dtype.str, "fortran_order": False, "shape": (size,)}

    with disk.atomic_write(file) as stream:
        np.lib.format.write_array_header_1_0(stream, header(0))
        layout = encode(source, codec, stream, meter)
        stream.seek(0)
        np.lib.format.write_array_header_1_0(stream, header(layout.size))
    facts = {key: value for key, value in vars(layout).items() if key != "starts"}
    facts["digest"] = digest_of(file, lambda size: None)
    _save(place, facts, starts=layout.starts)
    return np.asarray(np.load(file, mmap_mode="r")), layout


def _save(place: Path, facts: dict[str, Any], **arrays: npt.NDArray[Any]) -> None:
    """Keep arrays and JSON values. Raises OutputError."""
    content, said = io.BytesIO(), np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez(content, facts=said, **arrays)  # type: ignore[arg-type]
    with disk.atomic_write(place.with_suffix(".npz")) as stream:
        stream.write(content.getbuffer())


def _read(place: Path) -> dict[str, Any] | None:
    """What was kept, with the JSON values as "facts"; None if it is not there, or damaged."""
    file = place.with_suffix(".npz")
    try:
        with file.open("rb") as stream, np.load(stream) as kept:  # which compares checksums
            arrays = dict(kept)
        facts = json.loads(arrays.pop("facts").tobytes())
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return {**arrays, "facts": facts}


def encode(source: Source, codec: Codec, stream: Sink, meter: Meter) -> Layout:
    """Write the symbols of all documents to a stream, one after the other.

    Raises:
        DataError: a file cannot be read, or changed; or nothing is left of all.
        OutputError: the disk is full, or cannot be written to.
    """
    with meter.shown("hashing", source.bytes):
        sha256 = {name: digest_of(file, meter.add) for name, file in source.files.items()}
    config, findings = source.config, Findings()
    sizes, documents, parts = list[Integers](), dict[str, int](), dict[str, int]()
    size = 0
    with meter.shown("encoding", source.bytes):
        for name, file in source.documents.items():
            begin, lengths, found = stream.tell(), np.zeros(0, np.int64), Findings()
            with source.left_out(name, findings.unreadable):
                if isinstance(codec, Quantiser):
                    encoded = encode_sound(name, file, codec, config, stream, meter.add)
                else:
                    if config.on_bad_file == "skip":  # what no vocabulary has may come first
                        deque(pieces_of(file, codec.kind, config, lambda size: None), maxlen=0)
                    encoded = encode_text(file, codec, config, stream, meter.add)
                lengths, found = encoded
            findings.merge(found)
            if not lengths.any():
                stream.seek(begin)
                stream.truncate()
                continue
            sizes.append(lengths[lengths > 0])
            documents[name] = len(sizes[-1])
            if part := source.located.part_of(name):
                parts.setdefault(str(part), size)
            size += int(lengths.sum())
    source.check_unchanged()
    if not sizes:
        raise nothing_left(source, findings.unreadable | findings.left_out)
    edges = np.concatenate([np.zeros(1, np.int64), *sizes])
    starts = np.cumsum(edges, out=edges)[:-1]
    unreadable, notes = len(findings.unreadable), findings.notes(source.files, codec)
    is_sound = isinstance(codec, Quantiser)
    skipped = unreadable + len(findings.left_out) if is_sound else findings.skipped
    return Layout(starts, size, sha256, documents, parts, notes, skipped, unreadable, findings.snr)


def corpus_of(source: Source, codec: Codec, symbols: Symbols, layout: Layout) -> Corpus:
    """The corpus of encoded files."""
    located, errors = source.located, len(source.search.errors)
    frame, is_sound = (codec.phases, True) if isinstance(codec, Quantiser) else (1, False)
    notes = [*layout.notes, *source.notes(codec, layout.unreadable)]
    if other := _other_files(layout.sha256, source.config.sha256):
        notes.append(other)
    return Corpus(
        whole=Part(symbols, layout.starts, frame=frame),
        codec=codec,
        name=located.name,
        sha256=source.sha256_of(layout.sha256),
        bytes=source.bytes,
        skipped=layout.skipped + errors if is_sound else layout.skipped,
        unreadable_files=layout.unreadable + errors,
        notes=tuple(notes),
        files=tuple(layout.documents.items()),
        whole_documents=(is_sound or source.config.cuts_files) and len(layout.starts) > 1,
        validation_start=layout.parts.get("1"),
        test_start=layout.parts.get("2"),
        snr=layout.snr,
        licence=located.licence,
        citation=located.citation,
        stand_in=located.path if located.stands_in else None,
    )


def _other_files(of_files: Mapping[str, str], meant: list[str]) -> str:
    """That files have none of the sums that are meant; empty if they do."""
    others = {name: sha256 for name, sha256 in of_files.items() if meant and sha256 not in meant}
    if not others:
        return ""
    found = first_of([f"{name} ({sha256[:_SHOWN]}…)" for name, sha256 in others.items()])
    expected = first_of([f"{sha256[:_SHOWN]}…" for sha256 in meant])
    return (
        f"{found}: another sha256 than data.sha256 has ({expected}): another edition, or other "
        "line ends? Losses compare with published ones only on the same text"
    )
