"""`push`: a checkpoint goes to the Hugging Face hub, with a model card of what is known of it."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from seqkit import compose
from seqkit.config import Config, options, values_of
from seqkit.foundation import stdout
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError, OutputError
from seqkit.foundation.run_folders import is_run
from seqkit.model.arrays import count_parameters
from seqkit.runs import record
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.checkpoint_bytes import verified_record
from seqkit.runs.named_checkpoint import HUB, IN_REPOSITORY, load_checkpoint

_NAME = r"[\w-][\w.-]*"
_REPOSITORY = re.compile(rf"{HUB}({_NAME}/{_NAME})", re.ASCII)
_DATA_SET = re.compile(rf"({_NAME}/)?{_NAME}", re.ASCII)
_LICENCE = re.compile(r"[a-z0-9.-]+")
_GROUPS = ("data", "model", "optimizer", "train")
_PUBLIC = (*_GROUPS, "recipe", "plugins", "seed", "temperature", "top_k", "top_p", "sample")
_PUBLIC_URLS = ("http", "https", "s3", "gs", "hf")
_CARD = "README.md"
_REFUSED = (401, 403)  # HTTP: there is no token, or it may not write


def run(config: Config, catalogue: Catalogue, console: Console) -> None:
    """Upload `checkpoint` and a README.md in one commit to the repository `to`.

    A README.md that is there stays. Left out are the state of the training, and all settings that
    say nothing of the model; of places, all but the names of files and public addresses.
    """
    if not config.to or not (name := _REPOSITORY.fullmatch(config.to)):
        raise ConfigError(f"to={config.to or ''}: give the repository, to=hf://USER/NAME")
    if config.licence and not _LICENCE.fullmatch(config.licence):
        raise ConfigError(f"licence={config.licence}: give the hub's name of it, as in cc-by-4.0")
    try:
        from huggingface_hub import CommitOperationAdd, HfApi
    except ImportError as error:
        raise ConfigError(
            f"push needs more packages: pip install 'seqkit[remote]' ({error})"
        ) from error
    saved = load_checkpoint(config.checkpoint, catalogue, console)
    public = dataclasses.replace(
        saved, config=_public(saved.config), training=None, training_tensors={}
    )
    content = b"".join(public.content())
    digest = verified_record(Path(IN_REPOSITORY), content)[1]
    card = _card(public, config.to, digest, config.licence)
    added = {IN_REPOSITORY: content, _CARD: card.encode(errors="replace")}
    api = HfApi(library_name="seqkit")
    try:
        with console.progress(f"uploading {len(content) / 1e6:,.1f} MB"):
            api.create_repo(name[1], exist_ok=True)
            if not config.overwrite and api.file_exists(name[1], _CARD):
                console.notice(f"{config.to}: its {_CARD} stays; overwrite=true replaces it")
                del added[_CARD]
            api.create_commit(
                name[1],
                [CommitOperationAdd(path, file) for path, file in added.items()],
                commit_message=f"Add the checkpoint {digest[:12]}",
            )
    except Exception as error:  # each layer of the library raises its own
        raise OutputError(_said(config.to, error)) from error
    console.notice(f"written: {config.to}: digest {digest}")
    stdout.write(config.to)


def _said(place: str, error: Exception) -> str:
    """What went wrong with an upload, and what to do."""
    if getattr(getattr(error, "response", None), "status_code", 0) in _REFUSED:
        return f"to={place}: the hub refuses it: give a token that may write there, as HF_TOKEN"
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return f"to={place}: cannot be uploaded: {said}"


def _public(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a checkpoint's settings say of the model, and no place that only its maker knows."""
    public = {key: value for key, value in settings.items() if key in _PUBLIC}
    data = dict(public.get("data", {}))
    of_rows = data.get("kind") == "hf"
    data["path"] = [
        place if of_rows and _DATA_SET.fullmatch(place) else _address(place)
        for place in data.get("path", ())
    ]
    origin = settings.get("init_from")
    if teachers := public.get("train", {}).get("teachers"):
        public["train"] = {**public["train"], "teachers": [*map(_address, teachers)]}
    return {**public, "data": data, "init_from": origin and _address(origin)}


def _address(place: str) -> str:
    """A public URL without user, password and query; of any other place the name alone."""
    parts = urlsplit(place)
    if parts.scheme not in _PUBLIC_URLS or "::" in place:
        return Path(place).name
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _card(saved: Checkpoint, place: str, digest: str, licence: str | None) -> str:
    """A model card, as the hub shows it."""
    from huggingface_hub import ModelCard, ModelCardData

    model, data, metrics = saved.model, saved.data, saved.metrics
    rows = {
        "network": f"{model.num_layers} × {model.hidden_size} ({model.cell}), "
        f"{count_parameters(model):,} parameters, {saved.codec.size} symbols",
        "data": ", ".join(
            str(data[key]) for key in ("name", "licence", "citation") if data.get(key)
        ),
        "sha256 of the data": data.get("sha256"),
        "recipe": saved.config.get("recipe"),
        "started from": saved.config.get("init_from"),
        "settings that differ": ", ".join(f"`{setting}`" for setting in _differing(saved)),
        "updates": metrics.get("step"),
        "validation loss, nats per symbol": _short(metrics.get("best_validation_loss")),
        **{f"{key.replace('_', ' ')} per symbol": _short(bits) for key, bits in _baselines(saved)},
        "versions": ", ".join(f"{key} {value}" for key, value in saved.versions.items()),
        "digest": f"`{digest}`",
    }
    kind, template = saved.codec.kind, str(Path(__file__).with_name("model_card.md"))
    head = ModelCardData(library_name="seqkit", license=licence, tags=["seqkit", kind])
    card = ModelCard.from_template(head, template_path=template, place=place, kind=kind, rows=rows)
    return str(card)


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _baselines(saved: Checkpoint) -> list[tuple[str, float]]:
    """What needs no training: bits per symbol, if the checkpoint still lies in its run."""
    folder = saved.file.absolute().parent.parent
    baselines = record.read(folder).facts.get("baselines") if is_run(folder) else None
    return list(baselines.items()) if isinstance(baselines, dict) else []


def _differing(saved: Checkpoint) -> list[str]:
    """The keys that shaped the training and are not as its recipe has them, with their values."""
    recipe, config = saved.config.get("recipe"), saved.config
    words = [f"recipe={recipe}", *(f"plugins={name}" for name in config.get("plugins") or ())]
    try:
        of_recipe = values_of(compose.compose(words if recipe else [], []).config)
    except ConfigError:  # no recipe of this machine
        return []
    differing = []
    for name, _ in options():
        group, _, key = name.rpartition(".")
        then = config.get(group, {}).get(key) if group in _GROUPS else None
        if then is not None and then != of_recipe[name] and name != "data.path":
            differing.append(f"{name}={then}")
    return differing
