"""Formats of one run: the same path, the same findings, the same projections."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from rocm_perf import api
from rocm_perf.analysis.overview import overview
from rocm_perf.ingest.load import load
from rocm_perf.model.document import Document
from rocm_perf.model.trace import Trace
from tests.unit.analysis.idle.test_gaps import WRITERS

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "workloads"


@cache
def simulated(example: str) -> Trace:
    return api.simulate(EXAMPLES / f"{example}.toml")


@cache
def answer(example: str) -> Document:
    return overview(simulated(example), "run")


def told(document: Document) -> dict[str, object]:
    return {
        finding.id: pytest.approx(finding.time_at_stake_ns or 0, rel=0.05) for finding in document.findings
    }


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("example", ["sync_in_loop", "copy_in_loop", "slivers"])
@pytest.mark.whole
def test_one_run_in_any_format(example: str, writer: str, tmp_path: Path) -> None:
    WRITERS[writer](simulated(example), tmp_path / writer)
    there, here = answer(example), overview(load(tmp_path / writer), "run")
    assert here.path.wall_ns == there.path.wall_ns
    assert here.path.by_kind == there.path.by_kind
    assert {row.kernel: row.path_ns for row in here.path.by_kernel} == {
        row.kernel: row.path_ns for row in there.path.by_kernel
    }
    close = 0.01 if writer == "csv" else 0  # rocprofv3's CSV does not say how many bytes a copy moved
    assert [one.change for one in here.projections] == [one.change for one in there.projections]
    assert [one.wall_ns for one in here.projections] == pytest.approx(
        [one.wall_ns for one in there.projections], rel=close
    )
    assert {finding.id: finding.time_at_stake_ns or 0 for finding in here.findings} == told(there)
