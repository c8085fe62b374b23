"""The application before it starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocm_perf.collect.request.application import check_output, find_application, is_python
from rocm_perf.errors import OutputError, UsageError


def script(path: Path, text: str = "#!/bin/sh\n", mode: int = 0o755) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_found_by_path_and_on_path(tmp_path: Path) -> None:
    file = script(tmp_path / "app")
    assert find_application((str(file),), {}) == file
    assert find_application(("app",), {"PATH": f"/nowhere:{tmp_path}"}) == file


def test_what_would_not_start_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script(tmp_path / "simulate")
    script(tmp_path / "plain", mode=0o644)
    script(tmp_path / "train.py", mode=0o644)
    (tmp_path / "folder").mkdir()
    path = {"PATH": str(tmp_path / "folder")}
    for command, words in (
        ((), "no application to run"),
        (("",), "no application to run"),
        (("./simulaet",), "the nearest name is ./simulate"),
        (("simulate",), "Write ./simulate"),
        (("./plain",), r"chmod \+x ./plain"),
        (("./train.py",), "python ./train.py"),
        (("./folder",), "is a folder"),
        (("zzqq",), "there is no application zzqq"),
    ):
        with pytest.raises(UsageError, match=words):
            find_application(command, path)


def test_python(tmp_path: Path) -> None:
    for name in ("python", "python3.12", "torchrun"):
        assert is_python(Path("/usr/bin", name))
    assert is_python(script(tmp_path / "vllm", "#!/opt/venv/bin/python3\nimport x\n"))
    assert is_python(script(tmp_path / "run", "#!/usr/bin/env python\n"))
    assert not is_python(script(tmp_path / "other", "#!/bin/sh\npython x.py\n"))
    assert not is_python(tmp_path / "none")


def test_output(tmp_path: Path) -> None:
    check_output(tmp_path / "new" / "runs")
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is not a folder"):
        check_output(tmp_path / "file" / "runs")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_output_folder_that_is_closed(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o555)
    with pytest.raises(OutputError, match="does not let this user write"):
        check_output(tmp_path / "closed" / "runs")
