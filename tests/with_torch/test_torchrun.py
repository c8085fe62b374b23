"""torchrun with four ranks on a CPU (gloo): `make test-torch`."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rocm_perf.ingest.load import load
from tests.fake_tools import fake_path

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not in this environment: make test-torch", allow_module_level=True)

PROGRAM = """
import subprocess, sys, time
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.ones(64) * dist.get_rank()
dist.all_reduce(total)
if "child" in sys.argv and dist.get_rank() == 0:
    subprocess.run([sys.executable, "-c", "import torch; torch.ones(8, 8) @ torch.ones(8, 8)"], check=True)
if "fail" in sys.argv and dist.get_rank() == 2:
    sys.exit(3)
if "fail" in sys.argv:
    time.sleep(600)
sys.stdout.write(f"rank {dist.get_rank()}: {total[0]:.0f}\\n")  # one write: four ranks share the pipe
sys.stdout.flush()
dist.destroy_process_group()
"""


def launched(tmp_path: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """A run of four ranks, and its record."""
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    own = ("torchrun", "--ranks-per-node", "4", "-d", str(tmp_path), "--run-id", "run", "--no-analyze")
    recording = ("--profiler", "torch")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # the Python there is asked for torch
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "rocm_perf",
            "launch",
            *own,
            *recording,
            "--",
            sys.executable,
            program,
            *words,
        ],
        env={**os.environ, "PATH": path, "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    return done, json.loads((tmp_path / "run" / "launch" / "rocm-perf-launch.json").read_text())


def test_each_counter_pass_is_a_torchrun_of_its_own(tmp_path: Path) -> None:
    """Below one torchrun, the second process group of a rank would look for the ranks of the first."""
    (tmp_path / "counters.txt").write_text("pmc: SQ_WAVES\npmc: GRBM_GUI_ACTIVE\n")
    (tmp_path / "train.py").write_text(PROGRAM)
    tools = fake_path(tmp_path, FAKE_GPU_COUNT="2")
    path = f"{Path(sys.executable).parent}{os.pathsep}{tools['PATH']}"
    own = ("torchrun", "--ranks-per-node", "2", "-d", str(tmp_path), "--run-id", "run", "--no-analyze")
    recording = ("--profiler", "rocprofv3", "--counters", "@counters.txt")
    done = subprocess.run(
        [sys.executable, "-m", "rocm_perf", "launch", *own, *recording, "--", sys.executable, "train.py"],
        env={**tools, "PATH": path, "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    trace, first, second = 1, 2, 3
    assert sorted(done.stdout.splitlines()) == ["rank 0: 1"] * 3 + ["rank 1: 1"] * 3
    run = load(tmp_path / "run", as_one=True)
    counted = run.table("counters").group_by("rank", "pass_id").agg(pl.col("counter").unique().first())
    assert sorted(counted.rows()) == [
        (rank, *names) for rank in (0, 1) for names in ((first, "SQ_WAVES"), (second, "GRBM_GUI_ACTIVE"))
    ]
    assert sorted(run.table("dispatches").select("rank", "pass_id").unique().rows()) == [
        (rank, number) for rank in (0, 1) for number in (trace, first, second)
    ]
    assert run.run.collection is not None
    assert [each.purpose for each in run.run.collection.passes] == ["trace", "counters", "counters"]
    record = json.loads((tmp_path / "run" / "launch" / "rocm-perf-launch.json").read_text())
    assert [(row["rank"], row["exit_code"]) for row in record["ranks"]] == [(0, 0), (1, 0)]


def traces(tmp_path: Path, record: dict[str, Any]) -> list[int]:
    """How many traces each rank left."""
    folders = [tmp_path / "run" / row["folder"] for row in record["ranks"]]
    return [len(list(folder.rglob("*.pt.trace.json*"))) for folder in folders]


def test_four_ranks_and_a_child_of_one(tmp_path: Path) -> None:
    done, record = launched(tmp_path, "child")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank}: 6" for rank in range(4)]
    assert [row["rank"] for row in record["ranks"]] == [0, 1, 2, 3]
    assert traces(tmp_path, record) == [2, 1, 1, 1]
    assert load(tmp_path / "run", as_one=True).table("ops").height > 4


def test_a_failing_rank_loses_nothing(tmp_path: Path) -> None:
    done, record = launched(tmp_path, "fail")
    assert done.returncode == 1  # torchrun's own, whichever code the rank had
    assert {row["rank"]: row["exit_code"] for row in record["ranks"]}[2] == 3
    assert traces(tmp_path, record) == [1, 1, 1, 1]
    assert "rank 2 on" in done.stderr
