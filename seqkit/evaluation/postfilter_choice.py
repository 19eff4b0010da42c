"""The postfilter that makes a sound more like its recording, if one does."""

import math

from seqkit.data.sound import Frames
from seqkit.data.sound.postfilter import OFF, Postfilter
from seqkit.evaluation.likeness import Distances
from seqkit.evaluation.recording import Recording

_CHOICES = [Postfilter(slope, onset) for slope in (0.5, 1.0, 2.0) for onset in (6.0, 12.0)]
_CHOICES += [Postfilter(slope, onset, 256) for slope in (0.5, 1.0) for onset in (12.0, 20.0, 30.0)]
_SHORTEST = 2.0  # seconds of a sound by which one is chosen
_WORTH = 0.05  # by which the contrast distance has to come down
_WORSE = 1.25  # times what a distance that is beyond its limit may come to


def choose(recording: Recording, frames: Frames, rate: int) -> tuple[Postfilter, str]:
    """A postfilter for sound (N, C) at a rate in hertz, and what is said of it.

    It is the one with the least contrast distance. Whatever deepens valleys lowers that one, so no
    other distance that is within its limit may leave it; beyond it, band may not grow, and the
    others only a little. If contrast is within its limit, the gain small, or the sound too short,
    there is none.
    """

    def distances(postfilter: Postfilter) -> Distances | None:
        return recording.judged(postfilter.filtered(frames, rate).mean(1), rate).distances

    best, said, limits = OFF, "", recording.limits.known
    plain = distances(OFF) if len(frames) >= _SHORTEST * rate else None
    if plain is None or not plain.contrast > limits.get("contrast", math.inf):  # or not known
        return best, said
    least = plain.contrast - _WORTH
    others = {k: v for k, v in plain.known.items() if k != "contrast"}
    bounds = {k: limits[k] if v <= limits[k] else _WORSE * v for k, v in others.items()}
    bounds["band"] = max(plain.band, limits["band"])
    for postfilter in _CHOICES:
        found = distances(postfilter) or plain
        if found.contrast <= least and all(getattr(found, k) <= v for k, v in bounds.items()):
            best, least = postfilter, found.contrast
            said = (
                "the sound hisses, and from now on that is turned down: "
                f"contrast {plain.contrast:.2f} → {found.contrast:.2f}, band {plain.band:.2f} → "
                f"{found.band:.2f} (slope {postfilter.slope:g}, onset {postfilter.onset:g} dB, "
                f"reach {postfilter.reach / 64:g} kHz; sample.postfilter=false leaves it out)"
            )
    return best, said
