"""The postfilter that makes a sound more like its recording, if one does."""

import math
from dataclasses import replace

import numpy as np

from seqkit.data.sound import Frames
from seqkit.data.sound.postfilter import OFF, Postfilter
from seqkit.evaluation.likeness import Distances
from seqkit.evaluation.recording import Recording

_CHOICES = [Postfilter(slope, onset) for slope in (0.5, 1.0, 2.0) for onset in (6.0, 12.0)]
_CHOICES += [Postfilter(slope, onset, 256) for slope in (0.5, 1.0) for onset in (12.0, 20.0, 30.0)]
_SHORTEST = 2.0  # seconds of a sound by which one is chosen
_WORTH = 0.05  # by which the distance that is cured has to come down
_LOUDER = 6  # decibels, at most
_WORSE = 1.25  # times what a distance that is beyond its limit may come to


def choose(recording: Recording, frames: Frames, rate: int) -> tuple[Postfilter, str]:
    """A postfilter for sound (N, C) at a rate in hertz, and what is said of it.

    It is the one with the least contrast distance. Whatever deepens valleys lowers that one, so no
    other distance that is within its limit may leave it; beyond it, band may not grow, and the
    others only a little. If contrast is within its limit or the gain small, hiss stays as it is.
    Sound that is too loud or too quiet is brought to the recording's level. Of a sound that is too
    short nothing is chosen.
    """
    limits = recording.limits.known

    def tried(postfilter: Postfilter) -> tuple[Postfilter, Distances | None]:
        made = postfilter.filtered(frames, rate)
        found = recording.judged(made.mean(1), rate).distances
        if found is None or found.loudness <= limits["loudness"]:
            return postfilter, found
        room = -20 * math.log10(max(float(np.abs(made).max()), 1e-9))
        wanted = round(-recording.louder(made.mean(1), rate))
        louder = max(-_LOUDER, min(wanted, _LOUDER, math.floor(room)))
        again = recording.judged(made.mean(1) * 10 ** (louder / 20), rate).distances
        if again is None or again.loudness > found.loudness - _WORTH:
            return postfilter, found
        return replace(postfilter, louder=float(louder)), again

    plain = recording.judged(frames.mean(1), rate).distances
    if plain is None or len(frames) < _SHORTEST * rate:
        return OFF, ""
    best, after = tried(OFF)
    hisses = plain.contrast > limits.get("contrast", math.inf)  # or not known
    least = plain.contrast - _WORTH
    others = {k: v for k, v in plain.known.items() if k != "contrast"}
    bounds = {k: limits[k] if v <= limits[k] else _WORSE * v for k, v in others.items()}
    bounds["band"] = max(plain.band, limits.get("band", math.inf))
    for choice in _CHOICES if hisses else []:
        postfilter, found = tried(choice)
        assert found is not None
        if found.contrast <= least and all(getattr(found, k) <= v for k, v in bounds.items()):
            best, after, least = postfilter, found, found.contrast
    return best, _in_words(best, plain, after or plain)


def _in_words(postfilter: Postfilter, before: Distances, after: Distances) -> str:
    """What a postfilter does, and the distances that it is chosen for; nothing of `OFF`."""
    cures, settings = list[str](), list[str]()
    if postfilter.slope:
        cures.append(
            "the sound hisses, and from now on that is turned down: "
            f"contrast {before.contrast:.2f} → {after.contrast:.2f}, "
            f"band {before.band:.2f} → {after.band:.2f}"
        )
        settings.append(
            f"slope {postfilter.slope:g}, onset {postfilter.onset:g} dB, "
            f"reach {postfilter.reach / 64:g} kHz"
        )
    if postfilter.louder:
        what = "louder" if postfilter.louder > 0 else "quieter"
        cures.append(
            f"the sound is made {abs(postfilter.louder):g} dB {what}, "
            "to be as loud as the recording: "
            f"loudness {before.loudness:.2f} → {after.loudness:.2f}"
        )
    if not cures:
        return ""
    return f"{'; '.join(cures)} ({'; '.join([*settings, 'sample.postfilter=false leaves it out'])})"
