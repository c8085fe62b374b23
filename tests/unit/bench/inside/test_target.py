"""Functions by their names, and one line for each way in which there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rocm_perf.bench.inside.target import TargetError, load_target

SOURCE = """
import dataclasses
@dataclasses.dataclass
class Box:
    value: int = 7
    def get(self): return self.value
def step(): return 42
def scaled(factor): return factor
def relaxed(*args, factor=1, **more): return factor
box = Box()
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bench_target.py").write_text(SOURCE)
    (tmp_path / "bench_broken.py").write_text("import no_such_module")
    (tmp_path / "bench_exiting.py").write_text("import sys; sys.exit('no licence')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("bench_target", "bench_broken", "bench_exiting"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize(
    ("target", "value"),
    [
        ("bench_target.py:step", 42),
        ("bench_target:step", 42),
        ("./bench_target.py:box.get", 7),
        ("bench_target:relaxed", 1),
    ],
)
def test_functions_of_modules_and_scripts(target: str, value: int) -> None:
    assert load_target(target)() == value


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("step", "does not name a function"),
        (":step", "does not name a function"),
        ("nowhere.py:step", "there is no file nowhere.py"),
        ("nowhere_at_all:step", "nowhere_at_all does not import: ModuleNotFoundError"),
        (
            "bench_broken:step",
            "bench_broken does not import: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("bench_exiting.py:step", "does not import: SystemExit: no licence"),
        ("bench_target:stop", "bench_target has no 'stop'; it has step, scaled, relaxed"),
        ("bench_target:box", "box is not a function, but of type Box"),
        ("bench_target:scaled", r"scaled needs arguments \(factor\)"),
    ],
)
def test_what_cannot_be_had_says_why(target: str, reason: str) -> None:
    with pytest.raises(TargetError, match=reason):
        load_target(target)
