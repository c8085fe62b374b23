"""The sbatch script of a job."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.collect.request.launching import Slurm
from rocm_perf.errors import UsageError
from rocm_perf.fleet.slurm.script import script_of
from rocm_perf.fleet.slurm.time_limit import flush_s, limit_s
from tests.unit.fleet.jobs import job


def script(slurm: Slurm | None = None, extra: tuple[str, ...] = (), **settings: Any) -> str:
    return script_of(job(**settings), slurm or Slurm(), 60, extra)


def directives(text: str) -> list[str]:
    return [line.removeprefix("#SBATCH ") for line in text.splitlines() if line.startswith("#SBATCH ")]


def command(text: str) -> str:
    (line,) = [line.strip() for line in text.splitlines() if line.endswith(" &")]
    return line


def test_the_settings_become_directives() -> None:
    asked = Slurm(partition="gpu", time="02:00:00", gpus_per_node=4, exclusive=True, mem="64G", account="me")
    lines = directives(script(asked, ("--mail-type=END",)))
    assert set(lines) >= {
        "--nodes=2",
        "--ntasks-per-node=2",
        "--partition=gpu",
        "--time=02:00:00",
        "--gpus-per-node=4",
        "--exclusive",
        "--mem=64G",
        "--account=me",
        "--job-name=app",
        "--output=/shared/runs/r1/launch/job-%j.out",
        "--signal=B:USR1@60",
        "--no-requeue",
    }
    assert lines[-1] == "--mail-type=END"  # what the user typed comes last, and counts
    assert not [line for line in lines if "qos" in line or "None" in line]


def test_odd_folders_are_quoted_as_sbatch_and_the_shell_read_them() -> None:
    text = script(output='/a b/10% "x"')
    assert '#SBATCH --output="/a b/10%% \\"x\\"/r1/launch/job-%j.out"' in text
    assert """-d '/a b/10% "x"'""" in command(text)
    with pytest.raises(UsageError, match="more than one line"):
        script(Slurm(partition="a\nb"))


@pytest.mark.parametrize("launcher", ["", "srun", "torchrun", "mpirun"])
def test_every_launchers_script_is_a_shell_script(launcher: str) -> None:
    text = script(configuration={"distributed": {"launcher": launcher}})
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0
    assert "ROCM_PERF_RUN_ID=r1" in text
    assert command(text).endswith("-d /shared/runs -- ./app 'a b' &")


def test_srun_starts_the_ranks_and_a_failing_one_does_not_kill_the_others() -> None:
    assert command(script()).startswith("srun --kill-on-bad-exit=0 --wait=0 ")


def test_torchrun_runs_once_per_node_and_meets_at_the_first() -> None:
    text = script(
        app=("python3", "train.py"),
        ranks_per_node=8,
        configuration={"distributed": {"launcher": "torchrun", "port": 29512}},
    )
    assert "--ntasks-per-node=1" in directives(text)
    line = command(text)
    assert "python3 -m torch.distributed.run" in line
    assert "--nnodes 2 --nproc-per-node 8 --no-python" in line
    assert '--rdzv-id "$SLURM_JOB_ID.$pass"' in line
    assert '| head -n 1):$((29512 + pass - 1))"' in line


def run_script(tmp_path: Path, srun: str, launcher: str = "srun") -> tuple[int, list[str]]:
    """The exit code of a script whose launcher does what is given, and the number of each launch."""
    stub = tmp_path / "bin" / launcher
    stub.parent.mkdir()
    stub.write_text(
        f"""#!/bin/bash
while [ "$1" != --pass ]; do shift; done
pass=$2; passes={tmp_path}/r1/.passes
mkdir -p "$passes"; echo "$pass" >> {tmp_path}/log
{srun}
"""
    )
    stub.chmod(0o755)
    done = subprocess.run(
        ["bash"],
        input=script(output=str(tmp_path), configuration={"distributed": {"launcher": launcher}}),
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{stub.parent}{os.pathsep}{os.environ['PATH']}"},
        check=False,
    )
    return done.returncode, (tmp_path / "log").read_text().split()


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
def test_every_run_of_the_program_is_a_launch_of_all_ranks(tmp_path: Path, launcher: str) -> None:
    wants_three = '[ "$pass" = 3 ] || touch "$passes/more-$pass"'
    assert run_script(tmp_path, wants_three, launcher) == (0, ["1", "2", "3"])


def test_a_launch_that_fails_is_the_last(tmp_path: Path) -> None:
    assert run_script(tmp_path, 'touch "$passes/more-$pass"; [ "$pass" = 1 ] || exit 3') == (3, ["1", "2"])


def test_an_interrupted_job_starts_its_ranks_no_more(tmp_path: Path) -> None:
    code, launches = run_script(tmp_path, 'touch "$passes/more-$pass"; kill -USR2 $PPID; sleep 0.2')
    assert (code, launches) == (0, ["1"])


def test_mpirun_is_interrupted_itself() -> None:
    text = script(configuration={"distributed": {"launcher": "mpirun"}})
    assert command(text).startswith("mpirun -n 4 ")
    assert 'kill -INT "$ranks"' in text


def test_an_unknown_launcher_is_refused() -> None:
    with pytest.raises(UsageError, match="Known: srun, slurm, torchrun"):
        script(configuration={"distributed": {"launcher": "magic"}})


@pytest.mark.parametrize("launcher", ["deepspeed", "megatron", "Megatron-LM", "torchtitan"])
def test_training_frameworks_are_started_by_torchrun(launcher: str) -> None:
    text = script(app=("python3", "t.py"), configuration={"distributed": {"launcher": launcher}})
    assert "python3 -m torch.distributed.run" in command(text)


@pytest.mark.parametrize("launcher", ["vllm", "sglang"])
def test_a_server_starts_its_workers_itself(launcher: str) -> None:
    text = script(
        ranks_per_node=1, configuration={"distributed": {"launcher": launcher, "nproc_per_node": 8}}
    )
    assert "torch.distributed.run" not in text
    assert "--ntasks-per-node=1" in directives(text)


@pytest.mark.parametrize("launcher", ["sglang-disagg", "sglang_disagg", "primus", "slurm_multi"])
def test_what_is_more_than_a_command_line_is_refused_with_what_to_do(launcher: str) -> None:
    with pytest.raises(UsageError, match="rocm-perf starts one") as refused:
        script(configuration={"distributed": {"launcher": launcher}})
    assert refused.value.next_step


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("10:30", 630),
        ("02:00:00", 7200),
        ("1-12", 129_600),
        ("1-0:30", 88_200),
        ("2-01:00:05", 176_405),
        ("", None),
        ("UNLIMITED", None),
    ],
)
def test_time_limits_as_sbatch_reads_them(text: str, seconds: int | None) -> None:
    assert limit_s(text) == seconds


@pytest.mark.parametrize("text", ["soon", "-5", "1:2:3:4", "2h"])
def test_what_is_not_a_time_limit(text: str) -> None:
    with pytest.raises(UsageError, match="time limit"):
        limit_s(text)


def test_a_short_job_keeps_most_of_its_time() -> None:
    assert [flush_s(limit) for limit in (None, 7200, 120, 60, 5)] == [60, 60, 12, 6, 1]
