"""Which dispatches are captured, and which of them are the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocm_perf.optimize.proof.capturing import dispatches_after_first, fingerprint
from rocm_perf.replay.snapshot import Snapshot


@pytest.mark.parametrize(
    ("count", "shapes", "numbers"),
    [
        (1, (1,), []),
        (2, (1,), [2]),
        (51, (1,), [26, 51]),
        (51, (1, 2), [2, 51]),  # every shape, and the last
        (51, (7, 1, 2), [2, 7]),
        (51, (1, 2, 3, 4, 5), [3, 5]),
        (3, (), [2, 3]),  # of a library that does not tell shapes
    ],
)
def test_which_dispatches_are_captured(count: int, shapes: tuple[int, ...], numbers: list[int]) -> None:
    assert dispatches_after_first(count, shapes, most=3) == numbers


def test_dispatches_that_begin_alike(made: Snapshot) -> None:
    """The same wherever memory lies; another with other arguments."""
    moved = replace(made, regions=tuple(region for region in made.regions if region.size != 4))
    assert fingerprint(made) == fingerprint(moved)
    elsewhere = replace(made, regions=made.regions[1:])
    assert fingerprint(made) != fingerprint(elsewhere)
