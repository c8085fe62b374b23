"""Launchers of one machine, with a script in the place of torchrun."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.fleet.job import PASS, Job
from rocm_perf.fleet.launcher import LaunchPlan
from rocm_perf.fleet.local import run_here
from tests.unit.fleet.jobs import job

# Notes the number of the launch, and asks for another one until the third.
RANKS = """
echo "$1" >> launches
mkdir -p run/.passes
touch run/.passes/of-3
[ "$1" = 3 ] || touch "run/.passes/more-$1"
"""


def launched(folder: Path, script: str) -> tuple[int, list[str], list[str]]:
    """The exit code, the number of each launch, and what was said."""
    here: Job = job(nodes=1, app=("true",), output=str(folder), run_id="run", working_folder=str(folder))
    said: list[str] = []
    done = run_here(LaunchPlan(argv=("sh", "-c", script, "ranks", PASS)), here, said.append)
    return done.exit_code, (folder / "launches").read_text().split(), said


def test_all_ranks_start_again_for_each_run_of_the_program(tmp_path: Path) -> None:
    assert launched(tmp_path, RANKS) == (
        0,
        ["1", "2", "3"],
        ["launch 2 of 3: sh starts the ranks again", "launch 3 of 3: sh starts the ranks again"],
    )


@pytest.mark.parametrize(("end", "code"), [("exit 7", 7), ("kill -TERM $$", 143)])
def test_a_launch_that_fails_is_the_last(tmp_path: Path, end: str, code: int) -> None:
    assert launched(tmp_path, f'{RANKS}\n[ "$1" = 1 ] || {end}')[:2] == (code, ["1", "2"])
