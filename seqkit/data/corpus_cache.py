"""Files as one row of symbols in the cache, which is mapped into memory.

`KEY.npy` has the symbols, `KEY.npz` where documents start and what is told of them; it is written
last. Neither has its name before it is whole.
"""

import contextlib
import dataclasses
import hashlib
import io
import json
import time
import zipfile
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.data import codecs
from seqkit.data.codec_choice import choose_codec, kind_of_text, nothing_left
from seqkit.data.codecs import Codec, Spectral
from seqkit.data.corpus import Corpus, Part
from seqkit.data.datasets import Source
from seqkit.data.encoders import UNKNOWN, encode_text, pieces_of
from seqkit.data.files import BadFileError, Findings, digest_of
from seqkit.data.sound.encoder import OVER, encode_sound, frames_of
from seqkit.data.sound.reader import SoundReader
from seqkit.foundation import disk
from seqkit.foundation.console import Progress
from seqkit.foundation.disk import OutputFile
from seqkit.foundation.ranks import Session
from seqkit.symbols import Integers, Symbols, symbol_dtype

_FORMAT = 24  # of the cached files; what is chosen otherwise changes their key, too
_OF_SOUND = ("on_bad_file", "channel")
_OF_TEXT = ("on_bad_file", "unknown", "document", "encoding", "kind")
"""The keys that what is kept depends on, beside the codec."""
_READINGS = 8  # of a frame, at most
_READ_AGAIN = 4800  # seconds that all readings come to, if one does not
_OLD = 30 * 24 * 3600.0  # seconds, after which data are encoded, and kernels compiled, anew
Facts = dict[str, Any]
"""JSON values that are kept beside symbols."""


def load(
    source: Source,
    cache: Path,
    session: Session,
    codec: Codec | None = None,
    grow: bool = False,
    readings: bool = False,
) -> Corpus:
    """The corpus of files, and of those that are chosen in folders.

    Without a codec they are encoded with one as configured, which fits them; a given one may `grow`
    by what is new in a text. With `readings`, sound in frames is read again and again, each time a
    part of a frame later.

    Raises:
        DataError: a file cannot be read, or changed; or nothing is left.
        ConfigError: keys that do not fit the codec.
        OutputError: the cache cannot be written to.
    """
    progress = session.progress
    try:
        if codec is None or grow:
            codec = _fitted(source, cache / "corpora", progress, codec)
        else:
            codec = choose_codec(source, progress, codec)
        corpus = _corpus_of(source, codec, *_row(source, cache, progress, codec))
    except BadFileError as error:
        if len(source.files) == 1 or source.config.on_bad_file == "skip":
            raise
        raise error.refusal() from error
    if not readings or not isinstance(codec, Spectral):
        return corpus
    count = int(_READ_AGAIN * codec.symbol_rate / len(corpus.whole))
    count = min(max(count, 1), _READINGS)
    skipped = [codec.hop * number // count for number in range(1, count)]
    rows = tuple(_row(source, cache, progress, codec, each)[0] for each in skipped)
    return dataclasses.replace(corpus, readings=rows)


def _row(
    source: Source, cache: Path, progress: Progress, codec: Codec, skipped: int = 0
) -> tuple[Symbols, Integers, Facts]:
    """The symbols of all files, and what `encode` returns; see there for `skipped`."""
    keys = _OF_SOUND if source.is_sound else _OF_TEXT
    settings = {key: getattr(source.config, key) for key in keys} | {"skipped": skipped}
    place = cache / "corpora" / _digest(source, settings, codec.kind, *_parts_of(codec))
    kept = _kept(place)
    if kept is None:
        kept = _written(place, source, codec, progress, skipped)
        evict(cache)
    return kept


def leave_out(source: Source, codec: Codec | None, progress: Progress) -> None:
    """Read all files once, and put those that cannot be read down as errors of the search.

    Raises DataError if no file is left.
    """
    config = source.config
    kind = "audio" if source.is_sound else codec.kind if codec else kind_of_text(source).kind
    with progress("looking for what cannot be read", source.bytes, unit="B") as bar:
        for file in source.files.values():
            try:
                read: Iterator[object] = pieces_of(file, kind, config, bar.add)
                if source.is_sound:
                    sound = SoundReader(file)
                    read = frames_of(sound, sound.sample_rate, 1, config, bar.add)
                deque(read, maxlen=0)
            except BadFileError as error:
                source.search.errors.append(error)
    if not source.documents:
        raise nothing_left(source, {})


def evict(cache: Path) -> None:
    """Remove old corpora and kernels: most of them are of no use any more."""
    for path in chain.from_iterable((cache / name).glob("*") for name in ("corpora", "kernels")):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _OLD:
                disk.discard(path)


def _fitted(source: Source, folder: Path, progress: Progress, codec: Codec | None) -> Codec:
    """The codec for the files, as it was found before or is found now; a given one grows."""
    config, name = {**asdict(source.config), "path": []}, source.config.codec
    given = [] if codec is None else _parts_of(codec)
    kind = None if codec or name == "auto" else codecs.find(name, source.catalogue)
    memory = folder / _digest(source, config, given, kind and codecs.fingerprint(kind))
    with contextlib.suppress(ValueError):  # a plug-in's codec may have changed
        if known := _read(memory):
            return codecs.from_spec(known[1]["codec"], source.catalogue)
    spec = codecs.spec_of(choose_codec(source, progress, codec, grow=True))
    _save(memory, np.zeros(0, np.int64), {"codec": spec})
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


def _kept(place: Path) -> tuple[Symbols, Integers, Facts] | None:
    """What the cache has of a corpus; None if it is not there, or cut short."""
    known = _read(place)
    try:
        return known and (np.asarray(np.load(place.with_suffix(".npy"), mmap_mode="r")), *known)
    except (OSError, EOFError, ValueError):
        return None


def _written(
    place: Path, source: Source, codec: Codec, progress: Progress, skipped: int
) -> tuple[Symbols, Integers, Facts]:
    """Encode the files into the cache. Raises OutputError and as `encode` does."""
    file, dtype = place.with_suffix(".npy"), symbol_dtype(codec.size)
    with disk.atomic_write(file) as stream:
        header = {"descr": dtype.str, "fortran_order": False, "shape": (0,)}
        np.lib.format.write_array_header_1_0(stream, header)
        begin = stream.tell()
        starts, facts = encode(source, codec, stream, progress, skipped)
        header["shape"] = ((stream.tell() - begin) // dtype.itemsize,)
        stream.seek(0)
        np.lib.format.write_array_header_1_0(stream, header)
    _save(place, starts, facts)
    return np.asarray(np.load(file, mmap_mode="r")), starts, facts


def _save(place: Path, starts: Integers, facts: Facts) -> None:
    """Keep where documents start, and JSON values. Raises OutputError."""
    content, said = io.BytesIO(), np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez(content, starts=starts, facts=said)
    disk.write(place.with_suffix(".npz"), content.getbuffer())


def _read(place: Path) -> tuple[Integers, Facts] | None:
    """What `_save` kept; None if it is not there, or damaged, which its checksums tell."""
    try:
        with place.with_suffix(".npz").open("rb") as stream, np.load(stream) as kept:
            return kept["starts"], json.loads(kept["facts"].tobytes())
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def encode(
    source: Source, codec: Codec, stream: OutputFile, progress: Progress, skipped: int = 0
) -> tuple[Integers, Facts]:
    """Write the symbols of all documents to a stream, one after the other.

    Those of sound are read from so many samples on that are `skipped`; silence follows instead.

    Returns:
        Where the documents start, (D,), and what `_corpus_of` needs beside.

    Raises:
        DataError: a file cannot be read, or changed; or nothing is left of all.
        OutputError: the disk is full, or cannot be written to.
    """
    with progress("hashing", source.bytes, unit="B") as bar:
        sha256 = {name: digest_of(file, bar.add) for name, file in source.files.items()}
    config, findings = source.config, Findings()
    findings.counts["file", "with the content of another one"] += len(sha256) - len(
        {*sha256.values()}
    )
    sizes = list[Integers]()  # of the documents of each file
    with progress("encoding", source.bytes, unit="B") as bar:
        for name, file in source.documents.items():
            begin = stream.tell()
            if codec.kind == "audio":
                lengths, found = encode_sound(name, file, codec, config, stream, bar.add, skipped)
            else:
                lengths, found = encode_text(file, codec, config, stream, bar.add)
            findings.left_out |= found.left_out
            findings.counts += found.counts
            for said in found.odd:
                findings.odd.setdefault(said, []).append(name)
            if not lengths.any():
                stream.seek(begin)
                stream.truncate()
            sizes.append(lengths[lengths > 0])
    source.check_unchanged()
    edges = np.concatenate([np.zeros(1, np.int64), *sizes])
    if len(edges) == 1:
        raise nothing_left(source, findings.left_out)
    starts = np.cumsum(edges, out=edges)[:-1]
    return starts, {
        "sha256": source.sha256_of(sha256),
        "counts": [len(each) for each in sizes],
        "skipped": findings.counts[UNKNOWN["skip"]] + len(findings.left_out),
        "clipped": findings.counts[OVER],
        "odd": findings.odd,
        "notes": findings.notes(source.documents, codec),
    }


def _corpus_of(
    source: Source, codec: Codec, symbols: Symbols, starts: Integers, facts: Facts
) -> Corpus:
    """The corpus of encoded files; `facts` as `encode` gives them."""
    located, frame = source.located, codec.phases if codec.kind == "audio" else 1
    counts, bad = facts["counts"], len(source.search.errors)
    firsts = accumulate(counts, initial=0)  # the number of each file's first document
    files = [file for file in zip(source.documents, counts, firsts, strict=False) if file[1]]
    begins = {located.part_of(name): int(starts[first]) for name, _, first in reversed(files)}
    return Corpus(
        Part(symbols, starts, frame=frame),
        codec,
        located.name,
        facts["sha256"],
        source.bytes,
        skipped=facts["skipped"] + bad * source.is_sound,
        clipped=facts["clipped"],
        odd={s: [str(source.documents[n]) for n in odd] for s, odd in facts["odd"].items()},
        unreadable_files=bad,
        notes=(*facts["notes"], *source.notes),
        files=tuple((name, count) for name, count, _ in files),
        whole_documents=(source.is_sound or source.config.cuts_files) and len(starts) > 1,
        stand_in=located.path if located.stands_in else None,
        validation_start=begins.get(1),
        test_start=begins.get(2),
    )
