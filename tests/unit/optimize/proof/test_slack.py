"""The memory between allocations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.optimize.proof.slack import gaps
from rocm_perf.replay.plan import reservations
from tests.unit.replay.test_plan import GRANULE, laid_out

LAYOUTS = st.lists(
    st.tuples(st.integers(0, 3 * GRANULE), st.integers(1, 2 * GRANULE)), min_size=1, max_size=8
)


@given(LAYOUTS)
def test_regions_and_gaps_fill_every_reservation_exactly(layout: list[tuple[int, int]]) -> None:
    regions = laid_out(layout)
    for reserved in reservations(regions, GRANULE):
        inside = [(region.base, region.size) for region in regions if region.base in range(*_ends(reserved))]
        parts = sorted([*inside, *gaps(reserved, regions)])
        at = reserved[0]
        for base, size in parts:
            assert base == at
            assert size > 0
            at += size
        assert at == sum(reserved)


def _ends(reserved: tuple[int, int]) -> tuple[int, int]:
    return reserved[0], sum(reserved)
