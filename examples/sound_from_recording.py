"""Train on a recording, then continue the first half second of it.

    python examples/sound_from_recording.py take.wav train.max_minutes=8

Settings are those of the command line. start.wav is the prompt; continued.wav is the prompt and
what the model makes of it.
"""

import argparse
import subprocess
import sys

import soundfile

import seqkit
from seqkit import events

PROMPT_SECONDS = 0.5


def show(event: events.Event) -> None:
    """Print where the sample is that the training makes at each validation."""
    if isinstance(event, events.Sampled):
        print(f"step {event.step}: {event.file}")


def main() -> None:
    """Train, cut a prompt from the recording, and continue it."""
    parser = argparse.ArgumentParser(description="Train on a recording, then continue it.")
    parser.add_argument("recording", help="WAV, FLAC, OGG, MP3 or AIFF, of ten seconds or more")
    parser.add_argument("settings", nargs="*", help="key=value, such as train.max_minutes=8")
    parser.add_argument("--seconds", default="5", help="how much new sound to make")
    given = parser.parse_intermixed_args()

    run = seqkit.train("my_sound", *given.settings, data=given.recording, on_event=show)

    rate = soundfile.info(given.recording).samplerate
    start, _ = soundfile.read(given.recording, frames=int(PROMPT_SECONDS * rate))
    soundfile.write("start.wav", start, rate)

    # The command brings the prompt to the model's sample rate. Model.generate takes it so already.
    words = [f"checkpoint={run.path}", "prompt_audio=start.wav", f"seconds={given.seconds}"]
    command = [sys.executable, "-m", "seqkit", "generate", *words]
    subprocess.run([*command, "out=continued.wav", "overwrite=true"], check=True)
    print("listen to continued.wav")


if __name__ == "__main__":
    main()
