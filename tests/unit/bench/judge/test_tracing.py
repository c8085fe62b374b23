"""Device timestamps of a judged process, from the file that our tracer leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.bench.judge.tracing import Tracer, recorded_kernels
from rocm_perf.errors import EmptyCaptureError
from tests import rptrace


def test_kernels_are_on_the_judges_clock(tmp_path: Path) -> None:
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "rank-6.rptrace").write_bytes(rptrace.small())
    kernels = recorded_kernels(tmp_path)
    assert kernels.starts_ns == [5_001_100, 5_002_100]
    assert kernels.span_ns(5_000_000, 5_003_000) == 1_700
    assert kernels.busy_ns(5_000_000, 5_003_000) == 1_200
    assert kernels.span_ns(5_003_000, 5_004_000) == 0


def test_a_process_without_a_recording_is_said(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError, match="left no device timestamps"):
        recorded_kernels(tmp_path)


def test_without_a_gpu_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert Tracer().refusal
