"""What torch traces of all years say of collectives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rocm_perf.ingest.load import load

Event = dict[str, Any]


def span(category: str, name: str, ts: int, dur: int, **args: object) -> Event:
    place = {"pid": 0, "tid": 16} if category == "kernel" else {"pid": 7, "tid": 8}
    return {"ph": "X", "cat": category, "name": name, "ts": ts, "dur": dur, **place, "args": args}


def collectives(folder: Path, *events: Event) -> list[dict[str, Any]]:
    file = folder / "trace.json"
    file.write_text(json.dumps({"schemaVersion": 1, "traceEvents": list(events)}))
    return load(file).table("collectives").to_dicts()


def test_kernels_that_say_what_they_send(tmp_path: Path) -> None:
    said = {
        "Collective name": "_allgather_base",
        "In msg nelems": 100,
        "Out msg nelems": 400,
        "dtype": "BFloat16",
        "Group size": 4,
        "Process Group Name": "0",
        "In split size": "[]",
    }
    kernel = span("kernel", "ncclDevKernel_AllGather_RING_LL(x)", 10, 5, device=0, stream=16, **said)
    (row,) = collectives(tmp_path, kernel)
    assert (row["name"], row["size_bytes"], row["output_bytes"]) == ("all_gather", 200, 800)
    assert (row["group"], row["group_size"], row["algorithm"]) == ("0", 4, "RING_LL")
    assert row["sent_bytes"] is None


def test_splits_of_an_exchange_and_the_other_end_of_a_message(tmp_path: Path) -> None:
    exchange = {"Collective name": "all_to_allv", "In msg nelems": 80, "dtype": "Float"}
    sent = {"Collective name": "send", "In msg nelems": 8, "dtype": "Float", "Src Rank": 0, "Dst Rank": 3}
    first, shortened, message = collectives(
        tmp_path,
        span(
            "kernel", "ncclDevKernel_SendRecv(x)", 10, 5, device=0, **exchange, **{"In split size": "[3, 1]"}
        ),
        span(
            "kernel",
            "ncclDevKernel_SendRecv(x)",
            20,
            5,
            device=0,
            **exchange,
            **{"In split size": "[3, ...]"},
        ),
        span("kernel", "ncclDevKernel_SendRecv(x)", 30, 5, device=0, **sent),
    )
    assert (first["name"], first["size_bytes"], first["sent_bytes"]) == ("all_to_all", 320, "[240,80]")
    assert shortened["sent_bytes"] is None
    assert (message["name"], message["peer"], message["size_bytes"]) == ("send", 3, 32)


def test_shapes_of_the_operator_around_the_launch(tmp_path: Path) -> None:
    """As torch 1.9 wrote it: the kernel has no arguments of its own."""
    shapes = {"Input Dims": [[2049000]], "Input type": ["float"]}
    (row,) = collectives(
        tmp_path,
        span("cpu_op", "nccl:all_reduce", 160, 75, **shapes, **{"External id": 2513}),
        span("cuda_runtime", "cudaLaunchKernel", 162, 5, correlation=33218),
        span("kernel", "ncclKernel_AllReduce_RING_LL_Sum_float(x)", 300, 1556, device=0, correlation=33218),
    )
    assert (row["name"], row["size_bytes"], row["dtype"]) == ("all_reduce", 4 * 2049000, "float32")
    assert (row["start_ns"], row["end_ns"], row["algorithm"]) == (300_000, 1_856_000, "RING_LL")


def test_shapes_of_the_range_around_the_launch(tmp_path: Path) -> None:
    """As torch 1.12 to 2.1 wrote it."""
    shapes = {"Input Dims": [[10, 2], [4]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}
    (row,) = collectives(
        tmp_path,
        span("user_annotation", "nccl:recv 1<-0", 160, 75, **shapes),
        span("cuda_runtime", "hipExtLaunchKernel", 162, 5, correlation=1),
        span("kernel", "ncclDevKernel_Generic(x)", 300, 20, device=0, correlation=1),
    )
    assert (row["name"], row["size_bytes"], row["dtype"], row["peer"]) == ("recv", 48, "bfloat16", 0)


def test_an_operator_of_another_library_that_reduces(tmp_path: Path) -> None:
    shapes = {"Input Dims": [[8, 4], [], []], "Input type": ["c10::BFloat16", "", ""]}
    (row,) = collectives(
        tmp_path,
        span("cpu_op", "symm_mem::multimem_all_reduce_", 160, 75, **shapes),
        span("cuda_runtime", "cudaLaunchKernel", 162, 5, correlation=1),
        span(
            "kernel",
            "void multimem_all_reduce_kernel<c10::BFloat16, 16>(x)",
            300,
            20,
            device=0,
            correlation=1,
        ),
    )
    assert (row["name"], row["size_bytes"], row["dtype"]) == ("all_reduce", 64, "bfloat16")
    assert row["algorithm"] == "multimem"


def test_shapes_that_make_no_sense_are_not_sizes(tmp_path: Path) -> None:
    strange = {"Input Dims": [[2**60, 2**60]], "Input type": ["float"]}
    (row,) = collectives(
        tmp_path,
        span("cpu_op", "nccl:all_reduce", 160, 75, **strange),
        span("cuda_runtime", "cudaLaunchKernel", 162, 5, correlation=1),
        span("kernel", "ncclDevKernel_Generic(x)", 300, 20, device=0, correlation=1),
    )
    assert (row["name"], row["size_bytes"]) == ("all_reduce", None)
