"""A Hydra application that calls seqkit keeps what is its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SMALL, environment

APPLICATION = """
import sys
from dataclasses import dataclass

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

import seqkit

@dataclass
class Mine:
    width: int = 3
    depth: int = 1

store = ConfigStore.instance()
store.store("schema", node=Mine)
store.store("lstm", node=Mine, group="model")
store.store("config", node={"defaults": ["schema", "_self_"], "depth": 2})

@hydra.main(version_base="1.2", config_path=None, config_name="config")
def main(config: DictConfig) -> None:
    version = hydra.version.getbase()
    run = seqkit.train("shakespeare", *WORDS)
    assert run.summary["steps"] == 2
    assert GlobalHydra.instance().is_initialized()
    assert hydra.version.getbase() == version
    assert HydraConfig.get().job.name == "application"
    again = hydra.compose("config", ["width=5"], return_hydra_config=True)
    assert (again.width, again.depth, again.hydra.job.name) == (5, 2, "application")

main()
with hydra.initialize(version_base=None, config_path=None):
    seqkit.compose.compose(["recipe=shakespeare"], [])
    assert hydra.compose("config") == {"width": 3, "depth": 2}
assert not GlobalHydra.instance().is_initialized()
print("kept")
"""


@pytest.mark.thorough
def test_training_inside_an_application_of_hydra_leaves_it_as_it_was(
    text_file: Path, tmp_path: Path
) -> None:
    words = [*SMALL, f"data.path={text_file}", f"run_dir={tmp_path / 'run'}", "train.max_steps=2"]
    program = tmp_path / "application.py"
    program.write_text(APPLICATION.replace("*WORDS", f"*{words}"))
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, env=environment(), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.stdout.endswith("kept\n"), done.stderr
