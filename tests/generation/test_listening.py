"""Sound that was made is judged, and handed on as it is."""

import numpy as np

from seqkit.config import ModelConfig
from seqkit.data.codecs import MuLaw
from seqkit.data.sound import Wave
from seqkit.evaluation.recording import Recording
from seqkit.generation import listening
from seqkit.generation.request import Trained
from seqkit.model.char_rnn import CharRNN

FAST = MuLaw(256, 8000)


def tone(seconds: float, level: float = 0.5, hertz: float = 223.7) -> Wave:
    phase = 2 * np.pi * hertz * np.arange(round(seconds * 8000)) / 8000
    wave = level * (np.sin(phase) + np.sin(2 * phase) / 2)
    return FAST.decode(FAST.encode(wave.astype(np.float32)))


def test_a_sound_is_held_against_its_recording() -> None:
    recording = Recording.of(tone(4), 8000)
    quiet = 0.08 * tone(1)  # 22 dB below
    hiss = np.random.default_rng(4).normal(0, 0.3, 8000).astype(np.float32)
    wave = np.concatenate([tone(2), quiet, hiss, tone(1.5)])
    right, wrong = FAST.encode(tone(5.5)), FAST.encode(wave)
    rows, said = np.stack([right, wrong], 1).astype(np.int64), list[str]()
    made = iter(np.split(rows, range(1, len(rows), 256)))
    model = CharRNN(ModelConfig(hidden_size=4, vocabulary_size=FAST.size))
    handed = listening.judged(made, Trained(model, FAST, recording), said.append)
    assert np.array_equal(np.concatenate([*handed]), rows)
    first, second = said
    assert first.startswith("stream 1 sounds like the recording (")
    assert second.startswith("stream 2 does not sound like the recording: ")
