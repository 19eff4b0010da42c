"""The page that runs a model: its weights, the program of the wasm engine, and what people see."""

import base64
import dataclasses
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.data.codecs import Bytes, Characters, Codec, Quantiser, Spectral
from seqkit.data.sound import writer
from seqkit.foundation import wording
from seqkit.foundation.device import HOST
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.wording import counted
from seqkit.generation import labelled
from seqkit.generation.engines.wasm import pack, program
from seqkit.runs.checkpoint import Checkpoint

_MOST = 50_000_000  # bytes of a page


def page_of(saved: Checkpoint, title: str) -> bytes:
    """One HTML file, of which the model of a checkpoint makes text or sound.

    Raises ConfigError: its network, its codec or its size is none for a page.
    """
    network, codec = saved.network(HOST), saved.codec
    if not isinstance(codec, Bytes | Characters | Quantiser | Spectral):
        raise ConfigError(
            f"the codec {codec.name} is a plug-in's: pages know characters, bytes and sound"
        )
    labels = None if saved.labels is None else labelled.every(saved.labels)
    arranged, weights = pack(network, codec.size + _ends(saved), labels)
    programs = {"relaxed": program(True), "plain": program(False)}
    content = filled(saved, title, {"arranged": arranged}, {**programs, "weights": weights})
    if len(content) > _MOST:
        raise ConfigError(
            f"this model makes a page of {len(content) / 1e6:,.1f} MB, and browsers open up to "
            f"{_MOST / 1e6:.0f} MB well: train a smaller one (model.hidden_size, model.num_layers, "
            "data.max_vocabulary)"
        )
    return content


def filled(
    saved: Checkpoint, title: str, engine: dict[str, Any], contents: Mapping[str, bytes]
) -> bytes:
    """The page of a model. `engine` and `contents` are what runs it, or `choices` of a server."""
    config, codec, labels = saved.model, saved.codec, saved.labels and saved.labels.values
    kind = "sound" if codec.kind == "audio" else codec.kind
    model = {
        **{"title": title, "kind": codec.kind, "size": codec.size, "start": codec.start},
        **dataclasses.asdict(saved.sampling),
        **{"labels": labels, "ends": _ends(saved)},
        **_of_codec(codec),
        **engine,
    }
    if isinstance(codec, Spectral):
        books = codec.books._replace(mean=codec.books.mean.astype("<f4"))  # no half precision
        contents = {**contents, **{n: a.tobytes() for n, a in books._asdict().items()}}
    model["contents"] = {
        name: base64.b64encode(zlib.compress(content, 9)).decode()
        for name, content in contents.items()
    }
    about = (
        f"A model of {kind}: {counted(config.num_layers, 'layer')} of {config.hidden_size}, "
        f"{counted(codec.size, 'symbol')}."
    )
    values = {"title": title, "about": about, "served": "choices" in engine, "model": model}
    return wording.page(Path(__file__).with_suffix(".html"), values)


def _ends(saved: Checkpoint) -> bool:
    """Whether text of a model ends with its document, by the symbol after those of its codec."""
    return bool(saved.model.ends) and saved.codec.kind != "audio"


def _of_codec(codec: Codec) -> dict[str, Any]:
    """What symbols stand for, and how they are heard. Raises ConfigError."""
    if isinstance(codec, Bytes):
        return {}
    if codec.kind != "audio":
        return {"vocabulary": [codec.decode([symbol]) for symbol in range(codec.size)]}
    heard: dict[str, Any] = {"rate": codec.sample_rate, "channels": codec.channels}
    heard |= {"phases": codec.phases, "symbol_rate": codec.symbol_rate}
    if isinstance(codec, Spectral):  # its layout, and what is short to tell and long to find
        own = codec.layout
        if own.size & (own.size - 1):
            raise ConfigError(f"pages know windows of a power of 2, and not of {own.size} samples")
        found = {"edges": own.edges.tolist(), "alike": own.band_weights.astype(float).tolist()}
        found["shape"] = codec.books.values.shape
        return heard | {"spectral": {**dataclasses.asdict(own), **found}}
    return heard | {"values": np.frombuffer(writer.pcm16(codec.values), "<i2").tolist()}
