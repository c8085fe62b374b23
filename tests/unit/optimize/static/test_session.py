"""`rocm-perf optimize --static` end to end, with a real compiler for a chip that is not here."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from rocm_perf.cli.main import main

TESTBED = Path(__file__).parents[4] / "testbed"
pytestmark = pytest.mark.native


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if find_spec("ziglang") is None and not shutil.which("hipcc"):
        pytest.skip("no compiler for AMD GPUs is installed")
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    temporary.mkdir()
    home.mkdir()
    for name in ("softmax_testbed.cpp", "gather_latency.cu", "transpose_template.cu", "gpu.h", "Makefile"):
        shutil.copy(TESTBED / name, home)
    monkeypatch.chdir(home)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return home


def test_candidates_are_ranked_and_nothing_is_accepted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in folder.iterdir())
    argv = ["optimize", "./gather_latency", "--static", "--arch", "gfx942", "--attempts", "6", "--json"]
    assert main(argv) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["conclusion"], result["applied"]) == ("static only", False)
    assert result["static"]["bytes_in_flight"] > 0
    verdicts = [attempt["verdict"] for attempt in result["attempts"]]
    assert verdicts[0] == "not measured"
    assert "accepted" not in verdicts
    first = result["attempts"][0]
    assert first["reason"].startswith("before the original: ")
    assert first["before"]["vgprs"] > 0
    assert first["static"]["bytes_in_flight"] > result["static"]["bytes_in_flight"]
    assert sorted(path.name for path in folder.iterdir()) == before
    assert not list((folder.parent / "temporary").iterdir())


def test_a_template_names_the_instance_that_is_looked_at(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["optimize", "transpose_template.cu", "--static", "--arch", "gfx1100", "--attempts", "1"]
    assert main(argv) == 0
    shown = capsys.readouterr().out
    assert "Not measured" in shown
    assert "of 2 instances of the template" in " ".join(shown.split())


def test_a_source_that_does_not_build(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = folder / "softmax_testbed.cpp"
    source.write_text(source.read_text() + "int x = y;\n")
    assert main(["optimize", "./softmax_testbed", "--static", "--arch", "gfx942"]) == 6
    complaint = capsys.readouterr().err
    assert "softmax_testbed.cpp does not build as it is, before any change" in complaint
    assert not list((folder.parent / "temporary").iterdir())
