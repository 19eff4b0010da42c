"""All files of a source as one row of symbols, and where documents are in it."""

import hashlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, compress

import numpy as np

from seqkit.data.codec_choice import nothing_left
from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.corpus import Corpus, Part
from seqkit.data.files import Findings, Meter, Sink, digest_of
from seqkit.data.sound_encoder import encode_sound
from seqkit.data.source import Source
from seqkit.data.text_encoder import encode_text, pieces_of, row_batches
from seqkit.foundation.wording import first_of
from seqkit.symbols import Integers, Symbols

_SHOWN = 12  # digits of a sha256


@dataclass(frozen=True)
class Layout:
    """What is known of a row of symbols.

    starts: of its documents, (D,).
    rows: the place of each document's label among `labels`, (D,); (0,) without labels of rows.
    size: how many symbols there are.
    sha256: of each file's content, by the names of all files.
    documents: how many documents those have of which something is left.
    parts: where the data set's own parts begin, of 1 (validation) and 2 (test).
    labels: of rows, each once.
    notes: what the user is told about it.
    skipped, unreadable, snr: as in `Corpus`, but for files that the search left out.
    """

    starts: Integers
    rows: Integers
    size: int
    sha256: dict[str, str]
    documents: dict[str, int]
    parts: dict[str, int]
    labels: list[str]
    notes: list[str]
    skipped: int
    unreadable: int
    snr: float | None


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
    size, labels, rows = 0, dict[str, int](), list[int]()
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
            if config.label_column:
                batches = row_batches(file, config, lambda size: None, labels=True)
                kept = compress(chain.from_iterable(batches), lengths)
                rows += [labels.setdefault(label, len(labels)) for label in kept]
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
    return Layout(
        starts, np.array(rows, np.int64), size, sha256, documents, parts, [*labels],
        notes, skipped, unreadable, findings.snr,
    )  # fmt: skip


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
        sha256=sha256_of(source, layout.sha256),
        bytes=source.bytes,
        skipped=layout.skipped + errors if is_sound else layout.skipped,
        unreadable_files=layout.unreadable + errors,
        notes=tuple(notes),
        files=tuple(layout.documents.items()),
        row_labels=(layout.labels, layout.rows) if layout.labels else None,
        whole_documents=(is_sound or source.config.cuts_files) and len(layout.starts) > 1,
        validation_start=layout.parts.get("1"),
        test_start=layout.parts.get("2"),
        snr=layout.snr,
        licence=located.licence,
        citation=located.citation,
        stand_in=located.path if located.stands_in else None,
    )


def sha256_of(source: Source, of_files: Mapping[str, str]) -> str:
    """That of the only file, or of a folder's listing as `sha256sum` prints it."""
    if not (source.located.others or source.located.path.is_dir()):
        return next(iter(of_files.values()))
    listing = "".join(f"{sha256}  {name}\n" for name, sha256 in of_files.items())
    return hashlib.sha256(listing.encode("utf-8", "surrogateescape")).hexdigest()


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
