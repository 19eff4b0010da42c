"""Small shapes, with mycaffe's settings and with the usual ones."""

import pytest

from seqkit.config import Config, ModelConfig, OptimizerConfig, TrainConfig


@pytest.fixture(params=["one_hot, adam", "embedding, sgd"])
def config(request: pytest.FixtureRequest) -> Config:
    """Two layers of 24, V 7, T 8, B 3."""
    model = ModelConfig(num_layers=2, hidden_size=24, vocabulary_size=7)
    optimizer = OptimizerConfig()
    if request.param == "embedding, sgd":
        model.input, model.embedding_size = "embedding", 5
        optimizer.kind, optimizer.momentum = "sgd", 0.9
    train = TrainConfig(batch_size=3, sequence_length=8)
    return Config(model=model, optimizer=optimizer, train=train)
