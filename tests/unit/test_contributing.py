"""The topic that CONTRIBUTING.md adds: applied to a copy of the package, it works as it stands, in four files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rocm_perf import simulate
from rocm_perf.model import bundle

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```python\n# (src/\S+\.py)(:[^\n]*)?\n(.*?)^```$", re.M | re.S)
DOCUMENT = "src/rocm_perf/model/document.py"


def blocks() -> dict[str, str]:
    """The files of the example, as CONTRIBUTING.md has them."""
    return {path: text for path, _, text in _BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text())}


def with_entry(document: str, pieces: str) -> str:
    """document.py with the import, the entry and the field of the example, each behind the last of its kind."""
    line, entry, field = pieces.strip("\n").split("\n\n")
    document = document.replace(
        "from rocm_perf.model.run import", f"{line}\nfrom rocm_perf.model.run import", 1
    )
    document = document.replace("\n)\n\n\nclass Document(", f"\n{entry}\n)\n\n\nclass Document(", 1)
    return document.replace("    formulas: dict[str, str]\n", f"{field}\n    formulas: dict[str, str]\n", 1)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the topic in it."""
    root = tmp_path_factory.mktemp("contributing")
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__", "native"))
    for path, text in blocks().items():
        target = root / path
        target.write_text(with_entry(target.read_text(), text) if path == DOCUMENT else text)
    return root / "src"


def run(package: Path, *arguments: str) -> str:
    code = "import sys; from rocm_perf.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.whole
def test_four_files_are_enough(package: Path, tmp_path: Path) -> None:
    assert len(blocks()) == 4
    recording = str(tmp_path / "recording")
    bundle.write(simulate(ROOT / "examples" / "workloads" / "sync_in_loop.toml"), Path(recording))
    assert "Launching threads" in run(package, "analyze", recording, "--show", "threads")
    assert "threads" in run(package, "analyze", recording).rpartition("More")[2]
    run(package, "analyze", recording, "-o", str(tmp_path / "files"))
    answer = json.loads((tmp_path / "files" / "analysis.json").read_text())
    assert sum(row["kernels"] for row in answer["threads"]["rows"]) == 360
    assert "threads.kernels" in answer["formulas"]
