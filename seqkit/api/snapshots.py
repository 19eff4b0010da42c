"""A training as it is now, as the checkpoints that are written of it."""

import dataclasses

from seqkit.api.prepare_training import Training
from seqkit.foundation import device
from seqkit.model.char_rnn import CharRNN
from seqkit.runs.checkpoint import Checkpoint


def checkpoint_of(training: Training) -> Checkpoint:
    """The run as it is now, with all that resuming needs."""
    values, tensors = training.trainer.state()
    saved = _saved(training, training.trainer.model)
    return dataclasses.replace(saved, training=values, training_tensors=tensors)


def best_of(training: Training) -> Checkpoint:
    """The weights as evaluation sees them, and what generation needs."""
    return _saved(training, training.trainer.evaluation_model())


def _saved(training: Training, model: CharRNN) -> Checkpoint:
    progress = training.trainer.progress
    return Checkpoint(
        model=model.config,
        codec=training.corpus.codec,
        weights=dict(model.state_dict()),
        config=dataclasses.asdict(training.config),
        data=training.corpus.record(),
        metrics={
            "step": progress.step,
            "symbols": progress.symbols,
            "train_seconds": progress.seconds,
            "scored": progress.scored,
            "best_validation_loss": progress.best_loss,
            "best_step": progress.best_step,
            "best_weights": progress.best_weights,
            "best_temperature": progress.best_temperature,
        },
        versions=device.versions(),
    )
