"""The Free Spoken Digit Dataset: 3000 clips, 22 minutes, six speakers, 8 kHz."""

from seqkit.data.download import Download

_COMMIT = "26eb9aaf76e81b692f806f9140c2d2777410d7a1"
DOWNLOAD = Download(
    name="spoken_digits",
    file="fsdd/recordings",
    url=f"https://github.com/Jakobovski/free-spoken-digit-dataset/archive/{_COMMIT}.tar.gz",
    member="recordings",
    sha256="1801eae019c063377d98f831d3f93574f259475df7332bb0e3d1b080fb5e6959",
    test="*_[0-4].wav",  # the official one: DIGIT_SPEAKER_INDEX.wav with an index of 0 to 4
    licence="CC BY-SA 4.0",
    citation="Jackson et al., Free Spoken Digit Dataset, doi:10.5281/zenodo.1342401",
)
locate = DOWNLOAD.locate
