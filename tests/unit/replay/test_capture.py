"""Capturing: what the program is told, and what is made of what it left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.errors import ToolAbsentError, UsageError
from rocm_perf.replay.capture import Account, Request, check, chosen_vendor, ranked_names, settings


def request(folder: Path, **changes: object) -> Request:
    given: dict[str, object] = {
        "command": ("app",),
        "kernel": "soft",
        "output": folder / "snap",
        "vendor": "AMD",
    }
    return Request(**{**given, **changes})  # type: ignore[arg-type]  # any field


def test_what_the_library_is_told(tmp_path: Path) -> None:
    asked = request(tmp_path, dispatch=3, outputs=False, stop_after=True)
    assert settings(asked, Path("/l.so"), Path("/d")) == {
        "HSA_TOOLS_LIB": "/l.so",
        "ROCP_TOOL_LIBRARIES": "/l.so",
        "ROCM_PERF_CAPTURE_DIR": "/d",
        "ROCM_PERF_CAPTURE_KERNEL": "soft",
        "ROCM_PERF_CAPTURE_IGNORE_CASE": "0",
        "ROCM_PERF_CAPTURE_DISPATCH": "3",
        "ROCM_PERF_CAPTURE_OUTPUTS": "0",
        "ROCM_PERF_CAPTURE_REACHABLE_ONLY": "0",
        "ROCM_PERF_CAPTURE_STOP_AFTER": "1",
        "ROCM_PERF_CAPTURE_ALLOW_UNCOVERED": "0",
    }
    nvidia = settings(request(tmp_path, vendor="NVIDIA"), Path("/l.so"), Path("/d"))
    assert nvidia["CUDA_INJECTION64_PATH"] == "/l.so"
    assert "HSA_TOOLS_LIB" not in nvidia


def test_refused_before_the_program_starts(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a regular expression"):
        check(request(tmp_path, kernel="("), {})
    with pytest.raises(UsageError, match=r"HSA_TOOLS_LIB is set to /profiler.so"):
        check(request(tmp_path), {"HSA_TOOLS_LIB": "/profiler.so"})
    (tmp_path / "snap").mkdir()
    with pytest.raises(UsageError, match="exists already"):
        check(request(tmp_path), {})


def test_vendors() -> None:
    assert chosen_vendor("auto", ("AMD",)) == "AMD"
    assert chosen_vendor("nvidia", ()) == "NVIDIA"
    with pytest.raises(ToolAbsentError, match="no GPU"):
        chosen_vendor("auto", ())
    with pytest.raises(UsageError, match="--vendor"):
        chosen_vendor("auto", ("AMD", "NVIDIA"))


def test_names_that_resemble_the_pattern_come_first() -> None:
    seen = Account(names_seen={"void gemm<float>(float*)": 900, "softmax_rows(float*)": 5, "copy": 100})
    more = Account(names_seen={"copy": 50})
    names = [name for name, _ in ranked_names("sofmax.*", [seen, more])]
    assert names == ["softmax_rows(float*)", "void gemm<float>(float*)", "copy"]
    assert ranked_names("zzz", [seen, more])[1] == ("copy", 150)
