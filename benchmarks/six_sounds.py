"""Six sounds of the whole band that chose no setting, such as a guitar and speech.

    python -m benchmarks.six_sounds FOLDER

Five are phrases that are drawn at random here and rendered by FluidSynth with the sound font
FluidR3 GM, at 44.1 kHz without reverberation (Debian: fluidsynth, fluid-soundfont-gm). The sixth
are the eight words of ALSA's speaker test at 48 kHz, one after the other (alsa-utils).
docs/lab/sound.md says what seqkit made of them.
"""

import random
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import soundfile

FONT = Path("/usr/share/sounds/sf2/FluidR3_GM.sf2")
WORDS = Path("/usr/share/sounds/alsa")
RATE, TICKS = 44_100, 960
Notes = list[tuple[float, float, int, int]]
"""Seconds, how long, key and velocity."""


def guitar(draw: random.Random) -> Notes:
    chords = ((45, 57, 60, 64), (41, 53, 57, 60), (48, 55, 60, 64), (43, 55, 59, 62))
    notes = Notes()
    for bar in range(7):
        start, chord = 0.2 + 3.5 * bar, chords[bar % 4]
        notes.append((start, 1.8, chord[0], draw.randint(70, 90)))
        for place in range(8):
            key = draw.choice(chord[1:] if place % 2 else (64, 67, 69, 72, 60, 62))
            late = start + 0.43 * place + draw.uniform(-0.015, 0.015)
            notes.append((late, draw.uniform(0.3, 1.2), key, draw.randint(50, 105)))
    return notes


def synthesiser(draw: random.Random) -> Notes:
    chords = ((57, 60, 64), (53, 57, 60), (55, 59, 62), (52, 57, 60))
    return [(0.1 + 2.3 * i, 2.1, key, 90) for i, chord in enumerate(chords) for key in chord]


def bass(draw: random.Random) -> Notes:
    keys = (28, 31, 33, 36, 38, 40)
    return [
        (0.2 + i / 2, draw.uniform(0.25, 0.6), draw.choice(keys), draw.randint(70, 110))
        for i in range(40)
    ]


def saxophone(draw: random.Random) -> Notes:
    keys, place, start, notes = (57, 60, 62, 64, 67, 69, 72, 74), 3, 0.2, Notes()
    while start < 19:
        seconds = draw.choice((0.25, 0.35, 0.5, 0.9))
        place = max(0, min(7, place + draw.choice((-2, -1, 1, 2))))
        notes.append((start, 0.92 * seconds, keys[place], draw.randint(60, 110)))
        start += seconds + (0.4 if draw.random() < 0.12 else 0)
    return notes


def drums(draw: random.Random) -> Notes:
    notes, begin = Notes(), 0.2
    for beat in range(64):
        place = beat % 8
        start = begin + 0.23 * place
        begin += 0.23 * 8 * (place == 7)
        notes.append((start, 0.1, 42, draw.randint(50, 100)))
        if place in (0, 3, 4):
            notes.append((start, 0.1, 36, draw.randint(80, 115)))
        if place in (2, 6):
            notes.append((start, 0.1, 38, draw.randint(75, 115)))
        if draw.random() < 0.1:
            notes.append((start, 0.1, draw.choice((45, 47, 49)), 85))
    return notes


def midi(notes: Notes, program: int, channel: int) -> bytes:
    """A MIDI file of one track at 120 beats a minute."""
    events = [] if channel == 9 else [(0, bytes([0xC0 | channel, program]))]
    for start, seconds, key, velocity in notes:
        events.append((int(TICKS * start), bytes([0x90 | channel, key, velocity])))
        events.append((int(TICKS * (start + seconds)), bytes([0x80 | channel, key, 0])))
    track, last = b"", 0
    for time, message in sorted(events, key=lambda event: (event[0], event[1][0] & 0x10)):
        delta = time - last
        digits = [delta & 127]
        while delta := delta >> 7:
            digits.append(delta & 127 | 128)
        track, last = track + bytes(digits[::-1]) + message, time
    track += b"\0\xff\x2f\0"
    header = struct.pack(">4sIHHH", b"MThd", 6, 0, 1, TICKS // 2)
    return header + struct.pack(">4sI", b"MTrk", len(track)) + track


def write(file: Path, wave: np.ndarray, rate: int) -> None:
    """Write a wave, 2 dB below full scale."""
    soundfile.write(file, 0.8 * wave / np.abs(wave).max(), rate, subtype="PCM_16")
    print(f"{file}: {len(wave) / rate:.1f} s")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(5)
    phrases = {guitar: 25, synthesiser: 81, bass: 33, saxophone: 65, drums: 0}
    for phrase, program in phrases.items():
        channel = 9 if phrase is drums else 0
        name = folder / phrase.__name__
        name.with_suffix(".mid").write_bytes(midi(phrase(draw), program, channel))
        words = ["fluidsynth", "-niq", "-r", str(RATE), "-R0", "-C0", "-g0.7"]
        files = [str(name.with_suffix(".wav")), str(FONT), str(name.with_suffix(".mid"))]
        subprocess.run([*words, "-F", *files], check=True, stdout=subprocess.DEVNULL)
        wave = soundfile.read(files[0])[0].mean(1)
        write(Path(files[0]), wave[: np.flatnonzero(np.abs(wave) > 1e-3)[-1] + RATE // 10], RATE)
    words = [f"{a}_{b}.wav" for a in ("Front", "Rear", "Side") for b in ("Center", "Left", "Right")]
    read = [soundfile.read(WORDS / word) for word in words if (WORDS / word).exists()]
    write(folder / "speech.wav", np.concatenate([wave for wave, _ in read]), read[0][1])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
