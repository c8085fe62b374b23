"""Work is paired with the first call of its own process that has its correlation id, and stays in its order."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.basis.launched import CALL_KEY, launched_work, with_calls
from rocm_perf.analysis.basis.whole import part_of
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import call, kernel, trace

_KEYS = {"node": pl.Int32, "pid": pl.Int64, "correlation_id": pl.Int64}
Key = tuple[int, int | None, int | None]


def _rows(keys: list[Key]) -> pl.DataFrame:
    return pl.DataFrame(keys, schema=_KEYS, orient="row").with_row_index("number")


def _pairs(work: list[Key], calls: list[Key]) -> list[tuple[int, int | None]]:
    paired = with_calls(_rows(work), _rows(calls).select(*CALL_KEY, call="number"))
    return paired.select("number", "call").rows()


def test_one_id_in_two_processes_and_on_two_nodes_is_four_calls() -> None:
    keys: list[Key] = [(1, 8, 5), (0, 7, 5), (0, 8, 5), (1, 7, 5)]
    assert _pairs(keys, keys[::-1]) == [(0, 3), (1, 2), (2, 1), (3, 0)]


def test_the_first_call_wins_and_a_neighbouring_id_does_not() -> None:
    assert _pairs([(0, 7, 5), (0, 7, 6)], [(0, 7, 4), (0, 7, 5), (0, 7, 5)]) == [(0, 1), (1, None)]


def test_a_large_id_is_not_that_of_the_next_process_nor_a_large_process_that_of_the_next_node() -> None:
    ids: list[Key] = [(0, 7, 5 + (1 << bit)) for bit in range(63)]
    processes: list[Key] = [(0, 7 + (1 << bit), 5) for bit in range(1, 47)]
    assert _pairs([(0, 8, 5), (1, 7, 5)], ids + processes) == [(0, None), (1, None)]


def test_an_unknown_id_has_no_call_but_an_unknown_process_may() -> None:
    assert _pairs([(0, 7, None), (0, None, 5)], [(0, 7, None), (0, None, 5)]) == [(0, None), (1, 1)]


def test_a_host_that_runs_ahead_launched_the_work_of_a_part_before_it_began() -> None:
    calls = [call("hipModuleLaunchKernel", 10, 20, 1), call("hipModuleLaunchKernel", 30, 40, 2)]
    whole = trace(
        api_calls=calls,
        dispatches=[kernel("a", 100, 200, correlation_id=1), kernel("a", 300, 400, correlation_id=2)],
    )
    part = part_of(whole, Trace({"dispatches": whole.table("dispatches").slice(1)}), 250)

    assert launched_work(part).select("start_ns", "launch_start").rows() == [(300, 30)]


_ids = st.tuples(
    st.integers(0, 2), st.none() | st.integers(0, 2**32), st.none() | st.integers(-(2**62), 2**62)
)
_few = st.tuples(st.integers(0, 1), st.none() | st.integers(1, 2), st.none() | st.integers(0, 3))


@given(st.lists(_ids | _few, max_size=20), st.lists(_ids | _few, max_size=20))
def test_pairs_are_those_of_a_dictionary(work: list[Key], calls: list[Key]) -> None:
    first: dict[Key, int] = {}
    for number, key in enumerate(calls):
        first.setdefault(key, number)
    expected = [(at, first.get(key) if key[2] is not None else None) for at, key in enumerate(work)]
    assert _pairs(work, calls) == expected
