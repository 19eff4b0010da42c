"""How well `generate like=HUM` follows hums that are made from recordings.

    python benchmarks/followed.py CHECKPOINT RECORDING…

A hum is one voice, a tone with five overtones, that has the pitch and the loudness of a recording,
whose notes are smoothed and brought into a range of 18 semitones around 220 Hz. Of the sample that
follows it are printed how both curves of loudness correlate, in decibels down to 40 below the
loudest frame, and in how many of the hum's frames it has the pitch of the hum, within a semitone,
once both are brought to the octaves in which they agree most. Pitch is that of an autocorrelation.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import soundfile

import seqkit
from seqkit.data.sound import Wave
from seqkit.data.sound.reader import SoundReader
from seqkit.symbols import Floats

RATE, FRAMES, WINDOW = 16_000, 100, 0.05
LOWEST, HIGHEST, CLEAR = 60.0, 1600.0, 0.75


def curves(wave: Wave, rate: int) -> tuple[Floats, Floats]:
    """Decibels, and semitones or NaN, of the frames of a wave (N,)."""
    size = round(rate * WINDOW)
    centres = (np.arange(int(len(wave) * FRAMES / rate)) + 0.5) * rate / FRAMES
    begins = (centres + size / 2).astype(int)[:, None]
    frames = np.pad(wave.astype(np.float64), size)[begins + np.arange(size)]
    window = np.hanning(size)
    decibels = 10 * np.log10(np.square(frames) @ (window / window.sum()) + 1e-9)
    found, own = (
        np.fft.irfft(np.abs(np.fft.rfft(part * window, 4 * size)) ** 2)
        for part in (frames, np.ones(size))
    )
    low, high = int(rate / HIGHEST), int(rate / LOWEST)
    alike = found[:, low - 1 : high + 2] / own[low - 1 : high + 2]
    alike /= found[:, :1] / own[0] + 1e-12
    inner = alike[:, 1:-1]
    peaks = (inner >= alike[:, :-2]) & (inner >= alike[:, 2:])
    best = np.where(peaks, inner, 0).max(1)
    first = (peaks & (inner > 0.9 * best[:, None])).argmax(1)
    notes = 69 + 12 * np.log2(rate / (low + first) / 440)
    return decibels, np.where((best > CLEAR) & (decibels > decibels.max() - 35), notes, np.nan)


def hum(wave: Wave, rate: int) -> Wave:
    """A hum (N,) at `RATE` hertz."""
    decibels, notes = curves(wave, rate)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(notes, 7, "edge"), 15)
    steady = np.isfinite(windows).sum(1) > 7
    notes = np.array(
        [np.nanmedian(w) if own else np.nan for w, own in zip(windows, steady, strict=True)]
    )
    middle = np.nanmedian(notes)
    notes -= 12 * np.ceil((np.abs(notes - middle) - 9).clip(0) / 12) * np.sign(notes - middle)
    notes -= 12 * np.round((middle - 57) / 12)
    places = np.arange(len(notes) * RATE // FRAMES) * FRAMES / RATE
    hertz = np.nan_to_num(440 * 2 ** ((notes - 69) / 12))[places.astype(int)]
    phases = 2 * np.pi * np.cumsum(hertz) / RATE
    tone = sum(np.sin(n * phases) / n**1.3 for n in range(1, 7))
    loud = 10 ** (np.interp(places, np.arange(len(notes)) + 0.5, decibels) / 20) * (hertz > 0)
    sung = np.convolve(loud, np.hanning(320) / 160, "same") * tone
    return np.asarray(0.5 * sung / np.abs(sung).max(), np.float32)


def compared(score: Wave, made: Wave, rate: int) -> tuple[float, float, int]:
    """Correlation of loudness, share of frames with the pitch, and by how many octaves."""
    (loud, notes), (own_loud, own_notes) = curves(score, rate), curves(made, rate)
    count = min(len(loud), len(own_loud))
    floors = [np.maximum(one[:count], one[:count].max() - 40) for one in (loud, own_loud)]
    apart = (own_notes[:count] - notes[:count])[np.isfinite(notes[:count])]
    shares = {n: float((np.abs(apart - 12 * n) <= 1).mean()) for n in range(-4, 5)}
    best = max(shares, key=shares.__getitem__)
    return float(np.corrcoef(*floors)[0, 1]), shares[best], best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint")
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    model = seqkit.load(given.checkpoint)
    for path in given.recordings:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "hum.wav"
            wave = np.concatenate([*SoundReader(path).resampled(RATE)])[:, 0]
            soundfile.write(file, hum(wave, RATE), RATE)
            made = model.generate(like=str(file), seed=given.seed)
            rate = model.sample_rate or RATE
            score = np.concatenate([*SoundReader(file).resampled(rate)])[:, 0]
        loud, pitch, octaves = compared(score, made, rate)
        print(f"{path.name}: loudness {loud:.2f}, pitch {pitch:.0%} at {octaves:+d} octaves")


if __name__ == "__main__":
    main()
