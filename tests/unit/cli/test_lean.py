from __future__ import annotations

import json
import subprocess
import sys

import pytest

_PROGRAM = """
import json, os
from rocm_perf.cli.lean import load_libraries
load_libraries()
print(json.dumps(dict(os.environ)))
"""
_VARIABLES = ("OPENBLAS_NUM_THREADS", "_RJEM_MALLOC_CONF")


@pytest.mark.parametrize("given", [{}, {"OPENBLAS_NUM_THREADS": "8", "_RJEM_MALLOC_CONF": "narenas:3"}])
def test_started_programs_see_the_environment_as_it_was(given: dict[str, str]) -> None:
    path = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env={**path, **given}, capture_output=True, text=True, check=True
    )
    seen = json.loads(done.stdout)
    assert [seen.get(name) for name in _VARIABLES] == [given.get(name) for name in _VARIABLES]
