"""Copies within a GPU's memory: what they hold up, who asks for them, and that graphs are why."""

from __future__ import annotations

from typing import Any

import pytest

from rocm_perf.analysis.idle.device_copies import device_copies, device_copy_findings
from rocm_perf.model.trace import Trace
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import Row, call, kernel, trace

MAIN: dict[str, Any] = {"pid": 7, "tid": 7}
STEPS, EVERY_NS = 6, 100_000


def loop(launch: str, *, copy_ns: int = 20_000, operator: str = "Compiled") -> Trace:
    """In each step an operator copies within the GPU, launches a small kernel, and then 60 us of others in this way."""
    tables: dict[str, list[Row]] = {"api_calls": [], "dispatches": [], "copies": [], "ops": []}
    for step in range(STEPS):
        at, first = step * EVERY_NS, 3 * step + 1
        names = ("cudaMemcpyAsync", "cudaLaunchKernel", launch)
        tables["api_calls"] += [
            call(name, at + 2_000 * place, at + 2_000 * place + 1_000, first + place, **MAIN)
            for place, name in enumerate(names)
        ]
        copied = at + 5_000 + copy_ns
        tables["copies"].append(
            {"kind": "D2D", "start_ns": at + 5_000, "end_ns": copied, "size_bytes": 1 << 20, "agent_id": 0,
             "stream_id": 0, "correlation_id": first, "pid": 7}
        )  # fmt: skip
        tables["dispatches"] += [
            kernel("small", copied, copied + 1_000, correlation_id=first + 1, pid=7),
            kernel("large", copied + 1_000, copied + 61_000, correlation_id=first + 2, pid=7),
        ]
        span = {"name": operator, "category": "operator", "start_ns": at - 100, "end_ns": at + 8_000, **MAIN}
        tables["ops"].append(span)
    return trace((), (), **tables)


def test_what_has_nothing_beside_it_is_counted_and_the_operator_is_named() -> None:
    copies = device_copies(loop("cudaGraphLaunch"))
    assert copies is not None
    assert (copies.copies, copies.total_ns, copies.exposed_ns) == (STEPS, STEPS * 20_000, STEPS * 20_000)
    assert [(one.site, one.copies) for one in copies.sites] == [("Compiled", STEPS)]
    assert device_copies(trace(dispatches=[kernel("k", 0, 9)])) is None


@pytest.mark.parametrize(
    ("launch", "operator", "how"),
    [
        ("cudaGraphLaunch", "torch/compiled.py(3): run", "mark_static_address"),
        ("cudaLaunchKernel", "torch/compiled.py(3): run", ".contiguous()"),
        ("cudaGraphLaunch", "Own", "cudaGraphExecKernelNodeSetParams"),
        ("cudaLaunchKernel", "Own", "cudaMemcpyAsync from one to the other"),
    ],
)
def test_before_graphs_the_remedy_is_fixed_addresses(launch: str, operator: str, how: str) -> None:
    (finding,) = device_copy_findings(document(loop(launch, operator=operator)))
    assert (finding.kind, finding.time_at_stake_ns) == ("copies", STEPS * 20_000)
    assert how in finding.remedy
    assert f"inside {operator}: 6 copies, 120 us" in finding.evidence


def test_copies_that_take_little_are_not_told() -> None:
    assert device_copy_findings(document(loop("cudaGraphLaunch", copy_ns=2_000))) == []
