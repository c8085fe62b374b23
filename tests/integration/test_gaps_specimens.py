"""Gaps, launches, waiting, families, steps, slivers and copies on every recorded specimen with kernels: each gives an
answer or a reason, parts sum to their whole, and nothing exceeds it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rocm_perf.analysis.idle.copies import copy_findings, steady_copies
from rocm_perf.analysis.idle.gaps import gaps
from rocm_perf.analysis.idle.launches import launch_findings, launches
from rocm_perf.analysis.idle.sync import waiting
from rocm_perf.analysis.time.busy import device_times
from rocm_perf.analysis.time.families import family_findings, family_totals
from rocm_perf.analysis.time.slivers import sliver_findings, slivers
from rocm_perf.analysis.time.steps import steps
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.trace import Trace
from tests.golden.test_specimens import GOLDEN
from tests.recordings import answer, recording, sampled

WITH_KERNELS = [name for name, row in GOLDEN.items() if "dispatches=" in row["rows"]]
TORCH = [name for name in WITH_KERNELS if name.startswith("torch_trace/")]


@pytest.mark.parametrize("name", WITH_KERNELS)
@pytest.mark.whole
def test_every_specimen_with_kernels(specimens: Path, name: str) -> None:
    trace = recording(specimens / name)
    check_gaps(trace)
    check_calls(trace)
    check_kernels(trace)


@pytest.mark.parametrize("name", sampled(WITH_KERNELS))
def test_findings_of_every_specimen_with_kernels(specimens: Path, name: str) -> None:
    for finding in findings(answer(specimens / name)):
        assert finding.evidence
        assert finding.remedy
        assert finding.time_at_stake_ns is not None
        assert finding.time_at_stake_ns > 0


def check_gaps(trace: Trace) -> None:
    result = gaps(trace)
    idle = {(device.node, device.agent_id): device.idle_ns for device in device_times(trace)}
    assert {(p.node, p.agent_id): p.idle_ns for p in result.places if p.level == "gpu"} == idle
    assert sum(row.total_ns for row in result.causes) == result.idle_ns == sum(idle.values())
    for place in result.places:
        assert sum(place.causes.values()) == place.idle_ns
        assert all(part > 0 for part in place.causes.values())
    for gap in result.worst:
        assert sum(gap.causes.values()) == gap.duration_ns > 0
        assert gap.before
        assert gap.after
    assert bool(result.not_attributed) == any(row.cause == "nothing_recorded" for row in result.causes)
    assert bool(result.unavailable) == (not idle)
    assert within_one(result.sync_between)


def check_calls(trace: Trace) -> None:
    result = launches(trace)
    assert bool(result.unavailable) == (not result.kernels)
    assert all(within_one(row.share) for row in result.functions)
    waits = waiting(trace)
    assert within_one(waits.share)
    assert sum(row.total_ns for row in waits.scopes) == waits.total.total_ns + waits.blocking_copies.total_ns
    for row in (waits.total, waits.blocking_copies, *waits.functions, *waits.threads, *waits.scopes):
        assert 0 <= row.useful_ns <= row.total_ns == row.useful_ns + row.lost_ns


def check_kernels(trace: Trace) -> None:
    families = family_totals(trace)
    assert sum(row.share for row in families.rows) == pytest.approx(1 if families.rows else 0)
    found = steps(trace)
    assert bool(found.unavailable) == (not found.steps)
    assert all(
        before.end_ns <= after.start_ns for before, after in zip(found.steps, found.steps[1:], strict=False)
    )
    for row in slivers(trace).rows:
        assert 0 <= row.saving_ns <= row.kernel_ns + row.gap_ns
    copies = steady_copies(trace)
    assert sum(row.copies for row in copies.rows) == copies.copies


def findings(document: Document) -> Iterator[Finding]:
    for topic in (launch_findings, family_findings, sliver_findings, copy_findings):
        yield from topic(document)


def within_one(quantity: Quantity) -> bool:
    return quantity.value is None or 0 <= quantity.value <= 1


@pytest.mark.parametrize("name", TORCH)
def test_few_kernels_of_torch_have_no_family(specimens: Path, name: str) -> None:
    share = family_totals(recording(specimens / name)).unclassified_share
    assert share.value is not None
    assert share.value < 0.1


def test_steps_that_are_known_from_elsewhere(specimens: Path) -> None:
    """The MI350X run trains 50 steps (its kernels that run once a step are recorded 50 times)."""
    found = steps(recording(specimens / "rocprofv3_json/AMD-AGI_TraceLens__908_results.json.gz"))
    assert len(found.steps) in (49, 50)


def test_a_decode_that_waits_behind_unrecorded_work(specimens: Path) -> None:
    """SGLang launches, and the GPU begins 463 ms later, with nothing recorded in between."""
    result = gaps(recording(specimens / "torch_trace/AMD-AGI_TraceLens__sglang_Qwen3-8B_decode.json.gz"))
    assert result.causes[0].cause == "unrecorded"
    assert result.causes[0].share > 0.99
