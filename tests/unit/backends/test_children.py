"""A server runs its model in children: what makes a recorder load must reach them, and their children."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rocm_perf.backends.base import Profiler, Wish
from rocm_perf.backends.nvidia.cupti import CuptiProfiler
from rocm_perf.backends.torch import TorchProfiler
from tests.unit.backends.machines import nvidia

pytestmark = pytest.mark.launches

# An API process, its engine, and a tensor-parallel worker of that, as vLLM V1 starts them.
SERVER = """
import json, multiprocessing, os, sys

def worker(names, answers):
    hooked = any(type(finder).__name__ == "ImportFinder" for finder in sys.meta_path)
    answers.put({"variables": {name: os.environ.get(name) for name in names}, "hooked": hooked})

def engine(names, answers):
    child = multiprocessing.get_context(sys.argv[1] if len(sys.argv) > 1 else "spawn").Process(
        target=worker, args=(names, answers)
    )
    child.start(); child.join()

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    names = json.loads(sys.stdin.readline())
    child = context.Process(target=engine, args=(names, answers))
    child.start()
    print(json.dumps(answers.get())); child.join()
"""


@pytest.mark.parametrize("profiler", [TorchProfiler(), CuptiProfiler()], ids=lambda profiler: profiler.name)
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_the_worker_of_an_engine_process_is_recorded_too(
    tmp_path: Path, profiler: Profiler, method: str
) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    command = profiler.command(
        Wish(domains=("kernel",)), (sys.executable, str(script), method), tmp_path, nvidia()
    )
    done = subprocess.run(
        command.argv,
        env={**os.environ, **command.environment},
        input=json.dumps(list(command.environment)) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["variables"] == dict(command.environment)
    assert answer["hooked"] == (profiler.name == "torch")
