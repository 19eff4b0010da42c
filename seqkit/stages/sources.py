"""Where the data of a training are, and the weights that it starts from."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from seqkit.config import Config, as_data_asks
from seqkit.data import elsewhere, streams
from seqkit.foundation import disk
from seqkit.foundation.session import Session
from seqkit.runs import named_checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.stages.claim import Claim


@dataclass(frozen=True)
class Origin:
    """The checkpoint whose weights a training starts from, if any; `resumes` if it is the run's."""

    checkpoint: Checkpoint | None
    resumes: bool

    @property
    def saved(self) -> Checkpoint | None:
        """The run's own checkpoint, from which it goes on."""
        return self.checkpoint if self.resumes else None

    @property
    def other(self) -> Checkpoint | None:
        """Another run's checkpoint, which is fine-tuned."""
        return None if self.resumes else self.checkpoint


@dataclass(frozen=True)
class Sources:
    """Where the data and the first weights of a training are.

    config: names them so that the run can be resumed from another folder.
    paths: of the data on this machine.
    """

    config: Config
    paths: list[str]
    origin: Origin


def locate(claim: Claim, session: Session) -> Sources:
    """Find the data and the weights; streams and URLs are copied to files of the cache.

    In the config paths become absolute, and files of the cache take the place of streams. URLs
    stay, so that a run goes on on a machine whose cache has no copy.

    Raises:
        DataError: the data are not there.
        CheckpointError: the weights are not there, or cannot be read.
    """
    config, saved = claim.config, claim.saved
    notice, progress, cache = session.notice, session.progress, disk.cache_dir()
    prompt = [] if config.prompt_file is None else [config.prompt_file]
    files = streams.read_streams([*config.data.path, *prompt], cache, notice, progress)
    data = dataclasses.replace(config.data, path=files[: len(config.data.path)])
    data = dataclasses.replace(data, path=elsewhere.absolute(data))
    copies = elsewhere.fetch(data, cache, notice, progress)
    config = dataclasses.replace(
        config,
        data=data,
        init_from=config.init_from and named_checkpoint.absolute(config.init_from),
        prompt_file=str(Path(files[-1]).absolute()) if prompt else None,
        prompt_audio=config.prompt_audio and str(Path(config.prompt_audio).absolute()),
    )
    config, weights = as_data_asks(config), saved
    if saved is None and config.init_from is not None:
        weights = named_checkpoint.read(config.init_from, session.catalogue, notice, progress)
    return Sources(config, copies.path, Origin(weights, resumes=saved is not None))
