"""Keys that say where the symbols come from."""

from dataclasses import dataclass, replace

from seqkit.foundation.settings import option

HIGHEST_RATE = 384_000
"""Hertz of sound that is learnt and made; the highest that recorders of sound have."""


@dataclass
class DataConfig:
    """Where the symbols come from and how they are read."""

    kind: str = option("auto", "how files are read", choices=("auto", "text", "bytes", "audio"))
    dataset: str = option(
        "", "the data set used when data.path is not given (docs/reference/data.md)"
    )
    path: list[str] = option(
        [],
        "a file, a folder, or - for stdin; each file is one document; may be given several times",
    )
    document: str = option(
        "file",
        "of text, what a document is: a file, a line, or what stands between any text that is "
        "given here; line ends are then LF, empty documents are left out, and the end is learnt "
        "(model.ends)",
    )
    pattern: str = option(
        "",
        "which files of a folder are read, such as *.c,*.h: by name, or by path within the folder "
        "where there is a /; by default those whose content is of the kind",
    )
    split: list[float] = option(
        [0.9, 0.1, 0.0],
        "fractions for training, validation and test: by position, or by whole files of sound",
    )
    validation: str = option(
        "",
        "which files are the validation part, such as *valid*: by name, or by path within the "
        "folder where there is a /; data.split then divides the others",
    )
    test: str = option("", "which files are the test part, in the same way")
    encoding: str = option("utf-8", "the encoding of text files")
    unknown: str = option(
        "error",
        "a character outside the vocabulary: refuse it (init_from: add it), skip it, or take "
        "what is near, as e for é (what nothing is near to is skipped)",
        choices=("error", "skip", "nearest"),
    )
    max_vocabulary: int = option(
        0, "keep only so many characters, the most frequent ones; 0 keeps all"
    )
    sample_rate: int = option(
        0,
        "hertz that sound is resampled to; 0 keeps the files' own",
        maximum=HIGHEST_RATE,
    )
    channel: str = option("mix", "the channel of sound to read, from 0; mix takes their mean")
    channels: int | None = option(
        None,
        "channels of sound to learn and to make: 1, or 2 for stereo; null takes those of most "
        "recordings with data.codec=spectral, and 1 with other codecs",
        minimum=1,
        maximum=2,
    )
    codec: str = option(
        "auto",
        "how text or sound becomes symbols: characters, bytes, mu_law or linear, each sample a "
        "symbol, spectral, each of 31 to 188 frames a second four, or a plug-in's; auto goes by "
        "data.kind, and takes mu_law for sound",
    )
    levels: int = option(256, "levels of the quantiser", minimum=2, maximum=1024)
    gain: str = option(
        "none",
        "one factor for all sound that is quantised: none, or the one that makes the peak 1",
        choices=("none", "peak"),
    )
    label: str = option(
        "",
        "a document's label: folder, the name of the folder that its file is in; or a "
        "regular expression whose group is found in the file's name (in its path, if there is a "
        "/), or whose named groups are, such as '(?P<digit>.)_(?P<speaker>[a-z]+)'",
    )
    trim_silence: float = option(
        0.0,
        "decibels below the loudest 20 ms of its part at which sound counts as silence, in "
        "training and validation: left out at the beginning of a document, elsewhere shortened to "
        "0.3 s; 0 leaves all in",
        maximum=120,
    )
    on_bad_file: str = option(
        "error",
        "a file or folder that cannot be read: stop there, or leave it out",
        choices=("error", "skip"),
    )

    @property
    def cuts_files(self) -> bool:
        """Whether text is cut into documents within files."""
        return self.document != "file"

    def read_as(self, own: "DataConfig") -> "DataConfig":
        """The keys with which other data are read as those of `own` were."""
        return self if self.cuts_files else replace(self, document=own.document)
