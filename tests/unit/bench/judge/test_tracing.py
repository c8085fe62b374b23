"""Device timestamps of a judged process, from the file that our tracer leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.bench import ab_processes
from rocm_perf.bench.judge.tracing import Tracer, recorded_kernels
from rocm_perf.bench.judge.trial import TrialPlan
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


class TracerThatWritesNothing:
    refusal = ""

    def environment(self, folder: Path) -> dict[str, str]:
        return {"ROCM_PERF_CUPTI_OUTPUT": str(folder)}


def test_a_lost_recording_leaves_the_judges_wall_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old.py").write_text(
        "def f(x): return sorted(x)\ndef inputs(seed): return ([float(seed), 1.0],)\n"
    )
    (tmp_path / "new.py").write_text("def f(x): return sorted(x)\n")
    monkeypatch.setattr(ab_processes, "on_gpu", lambda _: True)
    monkeypatch.setattr(ab_processes, "_tracer", TracerThatWritesNothing)
    result = ab_processes.ab_processes(
        ab_processes.AbRequest(
            base=f"{tmp_path / 'old.py'}:f",
            new=f"{tmp_path / 'new.py'}:f",
            inputs=(f"{tmp_path / 'old.py'}:inputs",),
            plan=TrialPlan(rounds=1, laps=1, lap_ms=1e-3),
            processes=1,
        )
    )
    assert result.correct
    assert result.base.processes[0].clock == "wall clock"
    assert any("the judged process left no device timestamps" in doubt for doubt in result.doubts)
