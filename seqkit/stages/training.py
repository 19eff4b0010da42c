"""A training set up from a config, stage by stage, and checked before a file is made.

    config -> claim -> data -> lanes -> network -> trainer

Each stage is a function of values that came before it, which it leaves as they are.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from seqkit.config import Config, ModelConfig, values_of
from seqkit.data.corpus import Corpus
from seqkit.data.files import STDIN
from seqkit.evaluation.recording import Recording
from seqkit.foundation import device
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.machine import FEW, shared_cores
from seqkit.foundation.ranks import Ranks, Session
from seqkit.generation.engines import check_engine
from seqkit.generation.labelled import choice_of
from seqkit.generation.medium import Medium
from seqkit.generation.sampler import Request
from seqkit.model.char_rnn import CharRNN
from seqkit.runs.asked import asked_of
from seqkit.runs.checkpoint import Checkpoint
from seqkit.stages import network
from seqkit.stages.claim import PLACE_KEYS, Claim, claimed, settled
from seqkit.stages.data import TrainingData, read_data, recording_to_keep
from seqkit.symbols import Symbols
from seqkit.training.step import Plan
from seqkit.training.trainer import Trainer

_OWN_KEYS = PLACE_KEYS | {"checkpoint", "out", "run_dir", "runs", "quiet"}
"""Keys in which processes may differ: the same data may lie elsewhere, and rank 0 alone writes."""
_DOCUMENTS = 10  # in the closing sample, where files hold many


@dataclass(frozen=True)
class ClosingSample:
    """The sample at the end of a training, after the symbols of its prompt."""

    medium: Medium
    prompt: Symbols
    request: Request


@dataclass(frozen=True)
class Training:
    """All that a training needs, set up and checked; nothing is written yet.

    config: the settings that the run keeps, the claim's with what the data decide.
    recording: what its sounds are compared with, if there is enough of it.
    """

    config: Config
    claim: Claim
    data: TrainingData
    recording: Recording | None
    closing: ClosingSample
    trainer: Trainer
    session: Session

    @property
    def ranks(self) -> Ranks:
        """The processes that train together; rank 0 alone writes."""
        return self.session.ranks

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.trainer.model.head.weight.device

    def checkpoint(self) -> Checkpoint:
        """The run as it is now, with all that resuming needs."""
        values, tensors = self.trainer.state()
        saved = self._saved(self.trainer.model)
        return dataclasses.replace(saved, training=values, training_tensors=tensors)

    def best(self) -> Checkpoint:
        """The weights as evaluation sees them, and what generation needs."""
        return self._saved(self.trainer.validation.model())

    def _saved(self, model: CharRNN) -> Checkpoint:
        progress = self.trainer.progress
        return Checkpoint(
            model=model.config,
            codec=self.data.corpus.codec,
            weights=dict(model.state_dict()),
            config=dataclasses.asdict(self.config),
            data=self.data.corpus.record(),
            metrics={
                "step": progress.step,
                "symbols": progress.symbols,
                "train_seconds": progress.seconds,
                "best_validation_loss": progress.best_loss,
                "best_step": progress.best_step,
            },
            versions=device.versions(),
            recording=self.recording,
            labels=self.data.corpus.labels,
        )


@contextlib.contextmanager
def set_up(config: Config, session: Session) -> Iterator[Training | None]:
    """Set a training up, and keep others out of its folder until the block ends.

    Yields None if the run is finished, which is told. All of the session's processes have to set
    the same training up: rank 0 keeps the folder, and the others read the checkpoint that it found.

    Raises:
        SeqkitError: the settings, the data, a checkpoint, the device or the folder do not allow it.
    """
    ranks = session.ranks
    config = dataclasses.replace(config, seed=config.fixed_seed)
    _check_alike(config, ranks)
    with claimed(config, session) as claim:
        if claim.is_over:
            session.notice(claim.over())
            yield None
            return
        chosen = torch.device(device.find_device(config.device, ranks.rank))
        on_gpu = chosen.type == "cuda"
        ranks.check_same({"device": torch.cuda.get_device_name(chosen) if on_gpu else "cpu"})
        if not (on_gpu or ranks.alone):  # sums are rounded by their number
            torch.set_num_threads(ranks.shared(torch.get_num_threads))
        with device.settings_of_training(chosen, config.train.deterministic):
            with shared_cores(exactly=min(FEW, torch.get_num_threads())):
                training = _assembled(claim, chosen, session)
            ended = training.trainer.finished and claim.folder.finished_at is not None
            if claim.saved is not None and ended:
                session.notice(claim.over())
                yield None
            else:
                yield training


def _check_alike(config: Config, ranks: Ranks) -> None:
    """Raise ConfigError where this process was started for another training than rank 0."""
    if ranks.alone:
        return
    if STDIN & {*config.data.path}:
        raise ConfigError("data.path=-: several processes cannot read one stream")
    keys = {name: value for name, value in values_of(config).items() if name not in _OWN_KEYS}
    ranks.check_same(device.versions() | keys)


def _assembled(claim: Claim, chosen: torch.device, session: Session) -> Training:
    """The training of a run: its data, its network, and what trains it."""
    ranks, notice, saved = session.ranks, session.notice, claim.saved
    config, known, origin = settled(claim, session)
    train, seed, goes_on = config.train, config.fixed_seed, saved is not None
    data = read_data(config.data, known, train, session, recipe=config.recipe, goes_on=goes_on)
    corpus, start = data.corpus, saved
    if origin is not None:
        start = network.grown(origin, corpus, bool(config.model.ends), seed, notice)
    claim.compare(corpus, notice)
    shape = network.shape_of(config.model, start, data)
    closing = _closing(config, corpus, shape, chosen, session)
    lanes = network.lay_out(data, shape, train, seed, session, chosen)
    # All is checked, and the rest takes a while.
    recording = None if saved is None else saved.recording
    recording = recording or ranks.shared(lambda: recording_to_keep(data, session))
    with device.memory_errors(network.SMALLER):
        model = network.build(shape, start, seed, chosen)
        execution = ranks.shared(lambda: network.execution(train, model, lanes, session, saved))
        plan = Plan(config.optimizer, train, seed, execution)
        trainer = Trainer(model, lanes, data.validation, plan, ranks=ranks)
        if saved is not None:
            tensors = {name: torch.tensor(own) for name, own in saved.training_tensors.items()}
            trainer.restore(saved.training or {}, tensors)
    path = [str(corpus.stand_in)] if corpus.stand_in else config.data.path  # with which it goes on
    keys = dataclasses.replace(config.data, path=path)
    model_keys = network.keys_of(shape, config.model, start, notice)
    config = dataclasses.replace(config, model=model_keys, data=keys)
    return Training(config, claim, data, recording, closing, trainer, session)


def _closing(
    config: Config, corpus: Corpus, model: ModelConfig, chosen: torch.device, session: Session
) -> ClosingSample:
    """Read the prompt, and check that there are an engine and the label: now, not in the end.

    Raises SeqkitError: the prompt cannot be read, or no sample can be made so.
    """
    codec = corpus.codec
    session.catalogue.find("codecs", codec.name)  # or no checkpoint of this run could be read
    streams = _DOCUMENTS if config.data.cuts_files else 1
    keys = dataclasses.replace(config, until=None, streams=streams)  # which no training reads
    medium, source, request = asked_of(keys, codec, model, channel=config.data.channel)
    prompt = medium.read_prompt(source, session.notice)
    check_engine(model, codec.size, request, chosen)
    choice_of(corpus.labels, request, lambda words: None)
    return ClosingSample(medium, prompt, request)
