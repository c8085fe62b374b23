"""The pytest plugin, in pytest processes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rocm_perf.bench.history.records import SavedRun
from rocm_perf.bench.history.store import History
from rocm_perf.bench.results import with_surroundings
from rocm_perf.bench.samples import Result, Samples

pytestmark = pytest.mark.launches

PLUGINS = ("-p", "rocm_perf.integrations.pytest_plugin", "-p", "no:cacheprovider")
TARGET = "test_it.py::test_step"
SOURCE = """
def test_step(gpu_benchmark):
    result = gpu_benchmark(sum, [1, 2, 3], iterations=20, precision=None)
    assert result["median_ms"] > 0
    assert result["interval_scope"] == "this process alone"
"""
LIGHT = """
import sys
import rocm_perf.integrations.pytest_plugin
heavy = [name for name in ("polars", "msgspec", "torch", "rich", "rocm_perf.bench", "sqlite3") if name in sys.modules]
sys.exit(repr(heavy) if heavy else 0)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_it.py").write_text(SOURCE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def session(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *PLUGINS, *options],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


def keep(folder: Path, *medians_ms: float) -> None:
    """Sessions before, in which the benchmark took this long."""
    for median in medians_ms:
        samples = Samples(times_ms=(median,) * 20, clock="wall clock")
        settings = {"iterations": 20, "precision": None}
        result = with_surroundings(Result(target=TARGET, processes=(samples,), settings=settings))
        History(folder / ".rocm-perf").add_run(SavedRun(result=result))


def test_it_measures_and_leaves_nothing_unless_asked(folder: Path) -> None:
    done = session(folder)
    assert done.returncode == 0, done.stdout
    assert not (folder / ".rocm-perf").exists()


def test_what_is_saved_has_the_name_of_the_test(folder: Path) -> None:
    assert session(folder, "--rocm-perf-save").returncode == 0
    (run,) = History(folder / ".rocm-perf").runs(TARGET, 9)
    assert run.result.settings == {"iterations": 20, "precision": None}
    assert run.result.machine["host"]


@pytest.mark.parametrize(
    ("before", "code", "said"),
    [
        (
            (),
            1,
            "0 comparable sessions kept, 3 are the fewest. Run the state before the change with --rocm-perf-save",
        ),
        ((1e-6, 1.01e-6, 0.99e-6, 1e-6), 1, "is slower than in 4 sessions before"),
        ((1000.0, 1001.0, 999.0, 1000.0), 0, "1 passed"),
    ],
)
def test_a_session_is_compared_with_those_before(
    folder: Path, before: tuple[float, ...], code: int, said: str
) -> None:
    keep(folder, *before)
    done = session(folder, "--rocm-perf-compare")
    assert (done.returncode, said in done.stdout) == (code, True), done.stdout
    assert "Traceback" not in done.stdout


def test_a_damaged_history_fails_with_one_line(folder: Path) -> None:
    (folder / ".rocm-perf").mkdir()
    (folder / ".rocm-perf" / "history.sqlite").write_text("nonsense" * 100)
    done = session(folder, "--rocm-perf-compare")
    assert done.returncode == 1
    assert "file is not a database" in done.stdout


def test_projects_that_do_not_use_it_import_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
