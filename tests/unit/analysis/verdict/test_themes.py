"""What is said of several findings with one remedy."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.verdict.themes import mostly_short
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import kernel, trace

US = 1_000


@pytest.mark.parametrize(("length_us", "short"), [(8, True), (20, False)])
def test_gaps_are_beside_short_kernels_where_most_kernels_are_short(length_us: int, short: bool) -> None:
    """Beside kernels of which one takes longer than all others: it has one gap, as each of them has."""
    lengths = [("k", length_us * US)] * 20 + [("long", 10_000 * US)]
    ran, end = [], 0
    for name, length in lengths:
        ran.append(kernel(name, end, end + length))
        end += length + 5 * US
    assert mostly_short(document(trace(dispatches=ran))) == short
