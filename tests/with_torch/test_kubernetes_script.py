"""What the pods of Kubernetes start, started here: two nodes of two ranks meet through a real torchrun."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rocm_perf.fleet.ranks import rank_rows
from tests.fake_tools import fake_path
from tests.unit.fleet.kubernetes.jobs import job, planned

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not in this environment: make test-torch", allow_module_level=True)

TRAIN = """\
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank())])
dist.all_reduce(total)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {total.item():g}", flush=True)
dist.destroy_process_group()
"""


def test_two_pods_meet_and_record_every_rank(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "train.py").write_text(TRAIN)
    rocm_perf = tmp_path / "rocm-perf"
    rocm_perf.write_text(f'#!/bin/sh\nexec {sys.executable} -m rocm_perf "$@"\n')
    rocm_perf.chmod(0o755)
    launched = job(
        tmp_path,
        *(sys.executable, "train.py"),
        configuration={"distributed": {"launcher": "torchrun", "port": port}},
        nodes=2,
        ranks_per_node=2,
        profile=("--profiler", "rocprofv3", "--counters", "SQ_WAVES"),
    )
    objects = yaml.safe_load_all(planned(launched).files["kubernetes.yaml"])
    script = next(each["data"]["run.sh"] for each in objects if each["kind"] == "ConfigMap")
    here = script.replace("rocm-perf-try-1-0.rocm-perf-try-1", "127.0.0.1")
    tools = fake_path(tmp_path)
    pods = [
        _pod(here.replace("/results", str(tmp_path / "results")), node, tmp_path, tools) for node in (0, 1)
    ]
    printed = "".join(pod.communicate(timeout=240)[0] for pod in pods)
    assert [pod.returncode for pod in pods] == [0, 0], printed
    assert [printed.count(f"rank {rank} of 4: 6") for rank in range(4)] == [2] * 4  # a trace, and counters
    rows = rank_rows(tmp_path / "results" / "try-1")
    assert [row.rank for row in rows] == [0, 1, 2, 3]
    assert [len(row.later_folders) for row in rows] == [1] * 4


def _pod(script: str, node: int, folder: Path, tools: dict[str, str]) -> subprocess.Popen[str]:
    path = f"{folder}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{tools['PATH']}"
    return subprocess.Popen(
        ["/bin/sh", "-c", script],
        cwd=folder,
        env={**tools, "PATH": path, "OMP_NUM_THREADS": "1", "JOB_COMPLETION_INDEX": str(node)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
