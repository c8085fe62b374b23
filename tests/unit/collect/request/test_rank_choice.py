"""Which ranks are recorded."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rocm_perf.backends.base import Wish
from rocm_perf.collect.request.rank_choice import of_rank, ranks_of
from rocm_perf.collect.request.request import Request, Sampling
from rocm_perf.errors import UsageError


def test_ranks_and_ranges() -> None:
    assert ranks_of("0,7") == {0, 7}
    assert ranks_of("0-3, 6") == {0, 1, 2, 3, 6}


@pytest.mark.parametrize("text", ["-1", "", "3-1", "a", "1,,2", "0-99999999", "1.5"])
def test_what_names_no_ranks(text: str) -> None:
    with pytest.raises(UsageError, match="does not name ranks"):
        ranks_of(text)


def test_other_ranks_are_only_timed() -> None:
    asked = Request(
        command=("./app",),
        wish=Wish(domains=("kernel",)),
        counters=("X",),
        overhead_runs=2,
        sampling=Sampling(metrics=("power",)),
        environment={"A": "1"},
        timeout_s=5,
    )
    assert of_rank(asked, frozenset({3}), 3) is asked
    timed = of_rank(asked, frozenset({3}), 2)
    assert timed.of_job is asked
    assert replace(timed, of_job=None) == Request(command=("./app",), environment={"A": "1"}, timeout_s=5)
    with pytest.raises(UsageError, match="below the launcher"):
        of_rank(asked, frozenset({3}), None)
