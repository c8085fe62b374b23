"""Amounts that are known of some dispatches of a kernel: each is divided by those, and by their time."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest

from rocm_perf.analysis.roofline.amounts import SCHEMA, SHAPES, Known, Work, with_zeros
from rocm_perf.analysis.roofline.ceilings import ceilings
from rocm_perf.analysis.roofline.devices import named_device
from rocm_perf.analysis.roofline.means import means
from rocm_perf.analysis.roofline.points import Facts, kernel_roofline
from rocm_perf.analysis.roofline.times import Times
from rocm_perf.arch.catalog import find_gpu
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.roofline import KernelRoofline
from tests.unit.analysis.traces import trace

KEY = (0, "k")
FLOPS, BYTES = "f16 matrix", "HBM"


def clock(lengths: Sequence[int]) -> Times:
    timed = pl.DataFrame(
        [
            {"slot": n, "gpu": 0, "kernel": "k", "duration_ns": float(length)}
            for n, length in enumerate(lengths)
        ],
        {"slot": pl.UInt32, "gpu": pl.Int32, "kernel": pl.Categorical, "duration_ns": pl.Float64},
    )
    return Times(timed=timed, slots=pl.DataFrame(), number=0, basis="its own times")


def work(*rows: tuple[str, float, int]) -> Work:
    """Amounts by ceiling and slot."""
    amounts = pl.DataFrame([(0, "k", *row) for row in rows], SCHEMA, orient="row")
    known = {(KEY, FLOPS): Known(SHAPES, "FLOP", "f"), (KEY, BYTES): Known(SHAPES, "B", "b")}
    return Work(amounts, known, frozenset([KEY]))


def point(given: Work, lengths: Sequence[int]) -> KernelRoofline:
    gpu = named_device(find_gpu("MI300X"))
    of_kernel = means(given, clock(lengths))[KEY]
    facts = Facts(
        kernel="k",
        gpu=0,
        calls=len(lengths),
        total_ns=sum(lengths),
        dispatches=len(lengths),
        time_ns=Quantity(sum(lengths) / len(lengths), "ns", "mean"),
        amounts=of_kernel.amounts,
        whole=of_kernel.whole,
        all_flops=True,
        no_flops="",
        no_bytes="",
    )
    return kernel_roofline(facts, gpu, ceilings(gpu, trace().table("ceilings"), ()))


def test_unknown_bytes_are_not_none() -> None:
    """FLOPs of the first three dispatches are known, bytes of the last three: both of the two in the middle."""
    kernel = point(
        work(
            *((FLOPS, 2e9, slot) for slot in (0, 1, 2)), (BYTES, 8e6, 1), (BYTES, 8e6, 2), (BYTES, 2e6, 3)
        ),
        [40_000, 10_000, 10_000, 5_000],
    )  # fmt: skip
    assert kernel.tflops.value == pytest.approx(2e9 / 20_000 / 1000)
    assert kernel.tbytes.value == pytest.approx(18e6 / 25_000 / 1000)
    assert kernel.operational_intensity.value == pytest.approx(2e9 / 8e6)
    assert kernel.roof.value == pytest.approx(min(5.3 * 2e9 / 8e6, 1307.4))
    assert {part.ceiling: part.dispatches for part in kernel.work} == {FLOPS: 3, BYTES: 3}


def test_intensity_needs_dispatches_of_which_both_are_known() -> None:
    kernel = point(work((FLOPS, 2e9, 0), (BYTES, 8e6, 1)), [10_000, 10_000])
    assert (
        kernel.operational_intensity.unavailable == "no dispatch has both its operations and its bytes known"
    )
    assert kernel.tflops.known
    assert kernel.tbytes.known
    assert not kernel.roof.known


def test_what_is_known_of_little_of_the_time_is_doubted() -> None:
    few = point(work((FLOPS, 2e9, 0), (BYTES, 8e6, 0), (BYTES, 8e6, 1)), [10_000, 90_000])
    assert (
        few.tflops.doubt
        == few.operational_intensity.doubt
        == "known for 1 of 2 dispatches, 10.0 % of its time"
    )
    assert few.tbytes.doubt is None


def test_operations_of_another_kind_are_none_where_all_are_known() -> None:
    """A call in f16 and one in bf16, and one that computes integers: two known zeros for each."""
    rows = work((FLOPS, 2.0, 0), ("bf16 matrix", 4.0, 1), (BYTES, 8.0, 3)).amounts
    computing = rows.select("slot", "gpu", "kernel").unique().filter(pl.col("slot") < 3)
    integers = computing.head(1).with_columns(slot=pl.lit(2, pl.UInt32))
    filled = with_zeros(rows, "slot", pl.concat([computing, integers]))
    assert sorted(filled.select("ceiling", "slot", "amount").rows()) == [
        ("HBM", 3, 8.0),
        ("bf16 matrix", 0, 0.0),
        ("bf16 matrix", 1, 4.0),
        ("bf16 matrix", 2, 0.0),
        ("f16 matrix", 0, 2.0),
        ("f16 matrix", 1, 0.0),
        ("f16 matrix", 2, 0.0),
    ]
