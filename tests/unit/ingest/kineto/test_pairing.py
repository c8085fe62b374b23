"""Files that have no `correlation`: calls and kernels share their `External id`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.ingest.kineto.test_trace import read, span, trace

ID = "External id"


def launch(at: int, number: int, **args: Any) -> str:
    return span("cuda_runtime", "hipExtModuleLaunchKernel", str(at), "4", **{ID: number}, **args)


def kernel(at: int, number: int, **args: Any) -> str:
    return span("kernel", "k", str(at), "7", device=2, stream=0, **{ID: number}, **args)


def ids(tmp_path: Path, *events: str, table: str = "dispatches") -> list[tuple[int | None, int | None]]:
    return read(tmp_path, trace(*events)).tables[table].select("correlation_id", "op_id").rows()


def test_a_kernel_belongs_to_the_call_with_its_id(tmp_path: Path) -> None:
    operator = span("cpu_op", "aten::mm", "99", "30", **{ID: 25})  # its ids are counted apart
    events = (operator, launch(100, 24), launch(110, 25), kernel(130, 25), kernel(140, 24))
    assert ids(tmp_path, *events) == [(25, None), (24, None)]
    assert ids(tmp_path, *events, table="api_calls") == [(24, None), (25, None)]


def test_kernels_of_one_graph_share_the_id_of_its_launch(tmp_path: Path) -> None:
    assert ids(tmp_path, launch(100, 9), kernel(130, 9), kernel(140, 9)) == [(9, None), (9, None)]


@pytest.mark.parametrize(
    "events",
    [
        (launch(100, 5), launch(110, 5), kernel(130, 5)),  # calls of one operator
        (launch(100, 5, correlation=1), kernel(130, 5)),
        (launch(100, 5), kernel(130, 6)),
    ],
)
def test_an_id_that_means_something_else_pairs_nothing(tmp_path: Path, events: tuple[str, ...]) -> None:
    (correlation, op), *_ = ids(tmp_path, *events)
    assert correlation is None
    assert op is not None


def test_lds_comes_from_the_launching_call_where_the_kernel_has_none(tmp_path: Path) -> None:
    """As rocprofiler-sdk has it recorded in torch traces: kernels bear no sizes, launching calls do."""
    events = (
        span("cuda_runtime", "hipModuleLaunchKernel", "100", "4", correlation=5, **{"shared memory": 32768}),
        span("kernel", "attn_fwd", "130", "7", device=2, stream=0, correlation=5),
        span("cuda_runtime", "hipLaunchKernel", "110", "4", correlation=6, **{"shared memory": 0}),
        span("kernel", "add", "140", "7", device=2, stream=0, correlation=6),
    )

    assert read(tmp_path, trace(*events)).tables["dispatches"].select("kernel", "lds_bytes").rows() == [
        ("attn_fwd", 32768),
        ("add", None),
    ]
