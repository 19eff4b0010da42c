"""`--multirun`: a grid of trainings, checked before any begins, each in a process of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seqkit import compose
from seqkit.commands.interrupts import Interrupts
from seqkit.config import Config
from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.foundation.run_folders import runs_below
from seqkit.foundation.wording import command_line, counted
from seqkit.runs import record
from seqkit.runs.folder import RunFolder, make_numbered

_LOOK = 0.1  # seconds between two looks at the jobs
_GPUS = "CUDA_VISIBLE_DEVICES"
_ERROR = "seqkit: error: "
_OUTCOMES = {0: "finished", 75: "stopped", 130: "stopped"}


@dataclass
class Job:
    """One training: its command, the words that other jobs lack, and its numbered folder."""

    command: Sequence[str]
    differing: str
    folder: Path
    code: int | None = None
    """Its exit code, once it has ended."""

    @property
    def log(self) -> Path:
        """The file for notices, failures and the closing sample."""
        return self.folder.with_name(f"{self.folder.name}.log")


def run(words: Sequence[str], config_dirs: list[Path]) -> int:
    """Train once for every combination, and tell on stderr how each ended; stdout stays empty.

    A job that fails ends no other. After a signal all save their state and end.

    Returns:
        The exit code of the first job that failed, or of the signal.

    Raises SeqkitError: a key or value is not valid, or a job cannot be started.
    """
    lines, own = compose.sweep(words)
    configs = [compose.compose(line, config_dirs) for line in lines]
    sweep = compose.compose(own, config_dirs)
    for config in configs:
        Catalogue(config.plugins)  # which refuses a faulty plug-in
    if not all(config.recipe for config in configs):
        raise ConfigError("no recipe: a sweep needs one, also to go on: give recipe=NAME")
    gpus = _gpus() if sweep.launcher == "local" else []
    folder = _folder(configs[0])
    options = [f"--config-dir={place}" for place in config_dirs]
    jobs = _jobs(lines, [*options, *(["device=cuda"] if gpus else [])], folder)
    console = Console(configs[0].quiet)
    at_once = f", {len(gpus)} at once" if gpus else ""
    console.notice(f"{counted(len(jobs), 'job')} into {folder}{at_once}")
    with Interrupts(at_once=False) as interrupts:
        try:
            _run_all(jobs, gpus or [None], console, interrupts)
        finally:
            if runs_below(folder):
                console.notice(f"compare them with: {command_line('compare', f'runs={folder}')}")
    if interrupts.received is None:
        return next((job.code for job in jobs if job.code), 0)
    console.notice(f"the same command with run_dir={folder} goes on with the whole sweep")
    return interrupts.failure("").exit_code


def _folder(config: Config) -> Path:
    """The folder that the numbered runs go to: run_dir, or a new one of its own."""
    folder = RunFolder.asked_for(config)
    folder.check_writable()
    if not config.run_dir:
        return make_numbered(folder.path)
    disk.make_folder(folder.path)
    return folder.path


def _jobs(lines: Sequence[Sequence[str]], options: Sequence[str], folder: Path) -> list[Job]:
    """The jobs of these lines; unless they say otherwise, each goes on with the run it finds."""
    common, jobs = set.intersection(*map(set, lines)), []
    # Modules in the working folder are no part of a job, unless they are of this program.
    python = [sys.executable, *([] if str(Path.cwd()) in sys.path else ["-P"])]
    for number, line in enumerate(lines):
        words = [*(word for word in line if not word.startswith("run_dir=")), *options]
        if not any(word.startswith(("resume=", "overwrite=")) for word in words):
            words.append("resume=auto")
        own = folder / str(number)
        command = [*python, "-m", "seqkit", *words, f"run_dir={own}"]
        differing = [word for word in line if word not in common] or line
        jobs.append(Job(command, " ".join(differing), own))
    return jobs


def _gpus() -> list[str]:
    """The GPUs of this machine, or of CUDA_VISIBLE_DEVICES. Raises DeviceError: there is none."""
    import torch

    present = torch.cuda.device_count()
    if not present:
        raise DeviceError("launcher=local runs a job on each GPU, and there is none: leave it out")
    return os.environ.get(_GPUS, ",".join(map(str, range(present)))).split(",")[:present]


def _start(job: Job, gpu: str | None) -> "subprocess.Popen[bytes]":
    with disk.reopen(job.log) as log:
        return subprocess.Popen(
            job.command,
            env=None if gpu is None else {**os.environ, _GPUS: gpu},
            stdin=subprocess.DEVNULL,
            stdout=log.fileno(),
            stderr=log.fileno(),
            process_group=0,  # a Ctrl-C reaches it through this program, and once
        )


def _run_all(
    jobs: Sequence[Job], slots: Sequence[str | None], console: Console, interrupts: Interrupts
) -> None:
    """Run jobs, one at once on each GPU or by itself, or as many as come before a signal.

    After a second signal, and after a failure of a start, those that are going end at once.
    """
    waiting, stopping = [*jobs], False
    going = dict[str | None, tuple[Job, subprocess.Popen[bytes]]]()
    with console.progress("multirun", len(jobs), unit="jobs") as bar:
        try:
            while going or (waiting and not stopping):
                if interrupts.received and not stopping:
                    stopping = True
                    for _, process in going.values():
                        process.send_signal(interrupts.received)
                for slot in slots:
                    if slot in going and (code := going[slot][1].poll()) is not None:
                        _end(going.pop(slot)[0], code, console)
                    if slot not in going and waiting and not stopping:
                        job = waiting.pop(0)
                        console.notice(f"[{job.folder.name}] begins: {job.differing}")
                        going[slot] = job, _start(job, slot)
                bar.update(len(jobs) - len(waiting) - len(going))
                time.sleep(_LOOK)
        finally:
            for _, process in going.values():
                process.send_signal(signal.SIGTERM)
            for job, process in going.values():
                while (code := process.poll()) is None:
                    time.sleep(_LOOK)
                _end(job, code, console)


def _end(job: Job, code: int, console: Console) -> None:
    """Note and say how a job ended, of a failure what its log says last."""
    job.code = code if code >= 0 else DeviceError.exit_code  # killed, as when memory runs out
    number, best = job.folder.name, record.read(job.folder).best
    if job.code in _OUTCOMES:
        loss = f", validation loss {best[1]:.4f}" if best else ""
        console.notice(f"[{number}] {_OUTCOMES[job.code]}{loss}: {job.differing}")
        return
    lines = job.log.read_text(errors="replace").splitlines() if job.log.exists() else []
    said = [line.partition(_ERROR)[2] for line in lines if _ERROR in line]  # after a sample, too
    why = f"killed by signal {-code}" if code < 0 else [f"see {job.log}", *said][-1]
    if job.code == ConfigError.exit_code and job.folder.is_dir():
        why += f" (the runs in {job.folder.parent} are numbered in the order of the values)"
    Console().notice(f"[{number}] failed, exit code {job.code}: {why}")
