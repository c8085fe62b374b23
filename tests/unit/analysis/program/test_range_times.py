"""The union of kernels in a range and in everything inside it."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.basis.nested import nest
from rocm_perf.analysis.program.range_times import gpu_times

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 30)), min_size=1, max_size=12)
KERNELS = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 50), st.integers(0, 12)), max_size=14)


@given(SPANS, KERNELS)
def test_every_union_is_that_of_the_kernels_inside(
    spans: list[tuple[int, int]], drawn: list[tuple[int, int, int]]
) -> None:
    schema = {"tid": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64}
    rows = [(1, start, start + length) for start, length in spans]
    nested = nest(pl.DataFrame(rows, schema=schema, orient="row"), ["tid"])
    kernels = [(owner % len(spans), start, start + length) for owner, start, length in drawn]
    own = pl.DataFrame(
        kernels, schema={"owner": pl.UInt32, "start_ns": pl.Int64, "end_ns": pl.Int64}, orient="row"
    )
    times = gpu_times(nested, own)
    for row, behind in enumerate(nested["behind"].to_list()):
        inside = [kernel for kernel in kernels if row <= kernel[0] < behind]
        busy = {instant for _, start, end in inside for instant in range(start, end)}
        window = max(end for *_, end in inside) - min(start for _, start, _ in inside) if inside else 0
        own_kernels = sum(kernel[0] == row for kernel in kernels)
        assert times.row(row) == (len(inside), own_kernels, len(busy), window - len(busy))
