"""What a step looks up: the rows that symbols and conditions add to the bottom layer's gates."""

import dataclasses
from typing import Any, NamedTuple

import torch
from torch import Tensor

from seqkit.conditions import Conditions
from seqkit.config import ModelConfig
from seqkit.model import cells
from seqkit.model.char_rnn import CharRNN
from seqkit.model.linear_predictor import LinearPredictor


class StepTables(NamedTuple):
    """The tables of a network, without the biases of its gates.

    symbols: of each symbol, (V, G·H).
    conditions: of each code with each number of its one label, (C·n, G·H): see
        `condition_rows`. None: it reads neither.
    predicted: of each symbol that is predicted linearly, (V, G·H), if it reads that.
    predictor: what predicts it, with weights for each row of `conditions`.
    """

    symbols: Tensor
    conditions: Tensor | None
    predicted: Tensor | None
    predictor: LinearPredictor | None

    @classmethod
    def of(cls, model: CharRNN) -> "StepTables":
        """Those of a network that has one label at most, as `CharRNN.with_choices` makes it."""
        tables, config, predictor = model.gate_tables(), model.config, model.linear_predictor
        assert len(config.labels) <= 1
        labels = max(config.label_rows, 1)
        embedded = list[Tensor]()
        if model.conditions is not None:
            embedded.append(model.conditions.weight.repeat_interleave(labels, 0))
        if model.labels is not None:
            embedded.append(model.labels.weight.repeat(max(config.conditions, 1), 1))
        conditions = None
        if embedded:
            both, first = torch.cat(embedded, 1), config.embedding_size
            w = cells.weights_of(model.layers[0]).w
            conditions = both @ w[:, first : first + both.shape[1]].T
        if predictor is not None:
            weights = predictor.weights.repeat_interleave(labels, 0)
            predictor = dataclasses.replace(predictor, weights=weights)
        return cls(tables["embedding"], conditions, tables.get("predicted"), predictor)


def condition_rows(config: ModelConfig, conditions: Conditions) -> Any:
    """The rows (N, S) of `StepTables.conditions` for the conditions of symbols (N, S).

    They are tensors or arrays, as the conditions are. None: a network of this config has no such
    table, or nothing is known, which is row 0.
    """
    codes, labels = conditions
    if not config.conditions and not config.labels:
        return None
    if codes is None or labels is None:
        return codes if labels is None else labels[..., 0]
    return codes * max(config.label_rows, 1) + labels[..., 0]
