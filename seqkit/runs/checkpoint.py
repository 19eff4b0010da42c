"""Checkpoints: one safetensors file with all that generation, and training, needs.

Reading one imports and executes nothing; `checkpoint_bytes` has the bytes.
"""

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors
import safetensors.numpy

from seqkit.config import Config, ModelConfig, SampleKeys
from seqkit.data import codecs
from seqkit.data.codecs import Codec
from seqkit.data.labels import Labels
from seqkit.evaluation.recording import Recording
from seqkit.foundation import disk, machine
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.config_file import from_values, network_from
from seqkit.foundation.device import Device
from seqkit.foundation.errors import CheckpointError, ConfigError, UnreadableError
from seqkit.foundation.run_folders import NO_CHECKPOINT
from seqkit.foundation.settings import check_type
from seqkit.generation.generate import Trained
from seqkit.generation.sampler import Sampling
from seqkit.model.arrays import Network, NetworkArrays, count_parameters, shapes
from seqkit.runs.asked import Asked, asked_of, sampling_of
from seqkit.runs.checkpoint_bytes import (
    WEIGHTS,
    TensorOrArray,
    in_eight_bits,
    in_full,
    on_cpu,
    parts,
    verified_record,
)
from seqkit.symbols import NamedArrays

if TYPE_CHECKING:
    from seqkit.model.char_rnn import CharRNN

FORMAT = 1
_RECORDING = "recording."
_AS_IT_IS = ("config", "data", "metrics", "versions")
"""Parts of the record that are fields of a checkpoint."""
_NOT_USABLE = (KeyError, TypeError, ValueError, RuntimeError, safetensors.SafetensorError)


@dataclass
class Checkpoint:
    """What a checkpoint holds.

    Tensors are arrays in what was read, and may be PyTorch's in what is to be saved.
    `training` and the tensors under training names are there in `last` and `previous` only.
    `file` and `digest` are of the file that it was read from; a ready-made one has a `name`.
    `eight_bits`: whether the network's matrices are written in 8 bits; here they are in fp32.
    """

    model: ModelConfig
    codec: Codec
    weights: dict[str, TensorOrArray]
    config: dict[str, Any]
    data: dict[str, Any]
    metrics: dict[str, Any]
    versions: dict[str, str]
    training: dict[str, Any] | None = None
    training_tensors: dict[str, TensorOrArray] = field(default_factory=dict)
    recording: Recording | None = None
    labels: Labels | None = None
    file: Path = Path()
    digest: str = ""
    name: str = ""
    eight_bits: bool = False

    @functools.cached_property
    def settings(self) -> Config:
        """The settings of its training. Raises UnreadableError: this seqkit has others."""
        return from_values(self.config, str(self.file))

    @property
    def sampling(self) -> Sampling:
        """How samples of its training were drawn, with a seed of 0."""
        return sampling_of(self.settings)

    def asked(self, keys: SampleKeys) -> Asked:
        """The sample that keys ask it for. Raises as `asked_of`."""
        return asked_of(keys, self.codec, self.model, self.sampling, self.settings.data.channel)

    def save(
        self, path: Path, make_room: Callable[[], object] = lambda: None, overwrite: bool = True
    ) -> None:
        """Write the file: afterwards it is there and whole, or the old one is untouched.

        `make_room` is called when all is on the disk, before the file gets its name.
        """
        with disk.atomic_write(path, overwrite) as stream:
            for part in self.content():
                stream.write(part)
            stream.sync()
            make_room()

    def content(self) -> list[bytes | memoryview]:
        """The file in parts."""
        record = {
            "format": FORMAT,
            "model": dataclasses.asdict(self.model),
            "codec": self.codec.to_spec(),
            **{name: getattr(self, name) for name in _AS_IT_IS},
            "recording": self.recording is not None,
            "labels": self.labels and dataclasses.asdict(self.labels),
            "training": self.training,
        }
        groups: dict[str, Mapping[str, TensorOrArray]] = {WEIGHTS: self.weights}
        groups[_RECORDING] = self.recording.tensors() if self.recording else {}
        tensors = {prefix + k: v for prefix, group in groups.items() for k, v in group.items()}
        tensors |= self.training_tensors
        if self.eight_bits:
            tensors = in_eight_bits(tensors)
        return parts(tensors, json.dumps(record))

    def trained(self, model: Network) -> Trained:
        """A network that was built from it, with all that generation needs."""
        return Trained(model, self.codec, self.recording, self.labels)

    def network(self, device: Device) -> Network:
        """What generates, on a device: on a CPU without PyTorch. Raises as `build`."""
        return self._arrays() if device.type == "cpu" else self.build(device)

    def build(self, device: Device) -> "CharRNN":
        """The network with its weights, on a device.

        Raises CheckpointError where they are not finite.
        """
        return self._arrays().char_rnn().to(device)

    def _arrays(self) -> NetworkArrays:
        arrays = {name: on_cpu(values) for name, values in self.weights.items()}
        wide = {name: values.astype(np.float32, copy=False) for name, values in arrays.items()}
        if not np.isfinite([(part.min(), part.max()) for part in wide.values()]).all():
            raise CheckpointError(
                "the checkpoint's weights give no numbers: they are not finite: use another one"
            )
        return NetworkArrays(self.model, wide)


def load(path: Path, catalogue: Catalogue) -> Checkpoint:
    """Read a checkpoint and check it whole.

    Its codec is looked for in the catalogue: nothing that a checkpoint names is imported.

    Raises:
        CheckpointError: missing, damaged or foreign.
        UnreadableError: of another format, with a codec that is not found, or refused by the
            operating system.
    """
    try:
        machine.require_memory(2 * path.stat().st_size, f"reading {path}", "")
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise CheckpointError(f"{path}: {NO_CHECKPOINT}") from error
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {disk.describe(error)}") from error
    record, digest = verified_record(path, content)
    if record.get("format") != FORMAT:
        raise UnreadableError(
            f"{path}: format {record.get('format')!r}, and this seqkit reads format {FORMAT}: "
            "use the version of seqkit that wrote it"
        )
    try:
        _check_record(record)
        stored = safetensors.numpy.load(content)
        tensors = in_full(stored)
        model = network_from(record["model"])
        codec = _codec(path, record, catalogue)
        if model.symbols < codec.size or (model.ends and model.symbols > codec.size):
            raise ValueError(f"{model.symbols} logits for {codec.size} symbols")
        weights = _group(tensors, WEIGHTS)
        if {name: values.shape for name, values in weights.items()} != shapes(model):
            raise ValueError(f"the weights do not fit a network of {count_parameters(model)}")
        group = _group(tensors, _RECORDING)
        recording = Recording.of_saved(group) if record.get("recording") else None
        labels = Labels.of_record(record["labels"]) if record.get("labels") else None
        if (labels.sizes if labels else []) != model.labels:
            raise ValueError(f"labels of other sizes than the network's, {model.labels}")
        named = (WEIGHTS, _RECORDING)
        return Checkpoint(
            model=model,
            codec=codec,
            weights=weights,
            **{name: record[name] for name in _AS_IT_IS},
            recording=recording,
            labels=labels,
            training=record["training"],
            training_tensors={k: v for k, v in tensors.items() if not k.startswith(named)},
            file=path,
            digest=digest,
            eight_bits=any(value.dtype == np.int8 for value in stored.values()),
        )
    except (ConfigError, *_NOT_USABLE) as error:
        # Its digest fits: nothing is damaged, and the seqkit that wrote it may know how to read it.
        raise UnreadableError(f"{path}: not a checkpoint that can be used: {error}") from error


def _group(tensors: NamedArrays, prefix: str) -> NamedArrays:
    """The tensors whose names begin so, by the rest of their names."""
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def _check_record(record: dict[str, Any]) -> None:
    """Check the types of what is read beside model, codec and weights.

    Raises ConfigError: a value has another type, or a part is missing.
    """
    for name in _AS_IT_IS:
        check_type(name, record.get(name), dict)
    check_type("training", record.get("training"), dict | None)
    check_type("config.plugins", record["config"].get("plugins"), list[str] | None)
    check_type("data.sha256", record["data"].get("sha256"), str | None)
    check_type("data.bytes", record["data"].get("bytes"), int | None)
    check_type("metrics.step", record["metrics"].get("step"), int | None)


def _codec(path: Path, record: dict[str, Any], catalogue: Catalogue) -> Codec:
    try:
        return codecs.from_spec(record["codec"], catalogue)
    except ConfigError as error:
        plugins = record["config"].get("plugins") or ()
        hint = f"plugins={','.join(plugins)}, as in its training" if plugins else "plugins=MODULE"
        fault = f"{path}: its codec {record['codec']['name']} was not found: give {hint}"
        raise UnreadableError(fault) from error
