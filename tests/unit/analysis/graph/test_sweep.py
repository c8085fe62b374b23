"""The longest ways through a graph that is folded first are those of the plain pass over its edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rocm_perf.analysis.graph import sweep
from rocm_perf.analysis.graph.sweep import Folding, Numbers, Ways, longest

Edge = tuple[int, int, int]


def ways(tracks: list[int], edges: list[Edge]) -> Ways:
    cause, effect, weight = np.array(sorted(edges, key=lambda edge: edge[1]), dtype=np.int64).reshape(-1, 3).T
    return Ways(track=np.array(tracks, dtype=np.int16), cause=cause, effect=effect, weight=weight)


def folded(graph: Ways) -> Numbers:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "_LARGE", 0)
        return longest(graph)


@st.composite
def graphs(draw: st.DrawFn) -> Ways:
    """Tracks whose nodes follow one another, with some edges missing and others across."""
    count = draw(st.integers(2, 30))
    tracks = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    weights = st.integers(0, 9)
    edges: list[Edge] = []
    for node in range(1, count):
        before = [other for other in range(node) if tracks[other] == tracks[node]]
        follows = draw(st.booleans())
        if before and follows:
            edges.append((before[-1], node, draw(weights)))
        across = st.tuples(st.integers(0, node - 1), st.just(node), weights)
        edges += draw(st.lists(across, max_size=2))
    return ways(tracks, edges)


@given(graphs())
def test_folding_changes_no_time(graph: Ways) -> None:
    assert folded(graph).tolist() == longest(graph).tolist()


@given(graphs(), st.data())
def test_one_folding_serves_all_weights(graph: Ways, data: st.DataObject) -> None:
    count = graph.cause.size
    drawn = data.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    weight = np.array(drawn, dtype=np.int64)
    assert Folding(graph).times(weight).tolist() == longest(replace(graph, weight=weight)).tolist()


@pytest.mark.parametrize(
    "scale", [1, 1 << 60]
)  # the latter is too high for runs to be lifted above one another
def test_the_highest_value_of_a_run_so_far(scale: int) -> None:
    runs = sweep._Runs.of(np.array([False, True, True, False, True, False]))
    values = np.array([1, 3, 2, -3, 0, -1], dtype=np.int64) * scale
    assert runs.highest(values).tolist() == [value * scale for value in (1, 3, 3, -3, 0, -1)]


def test_launches_between_two_waits_fold_to_the_waits() -> None:
    """Of 1,000 launches with their kernels, one wait in the middle: what is passed over one by one is a handful."""
    host, kernels = [0], list[int]()
    tracks, edges = [0], list[Edge]()
    for number in range(1_000):
        call = len(tracks)
        tracks += [0, 1]
        edges += [
            (host[-1], call, 2),
            (call, call + 1, 5),
            *((kernel, call + 1, 3) for kernel in kernels[-1:]),
        ]
        host.append(call)
        kernels.append(call + 1)
        if number == 500:
            tracks.append(0)
            edges += [(call, call + 2, 1), (call + 1, call + 2, 4)]
            host.append(call + 2)
    graph = ways(tracks, edges)
    passed: list[int] = []
    plain = sweep._passed

    def counted(nodes: int, *columns: Numbers) -> Numbers:
        passed.append(nodes)
        return plain(nodes, *columns)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "_passed", counted)
        times = folded(graph)
    assert times.tolist() == longest(graph).tolist()
    assert times[host[-1]] == 2 + 5 + 500 * 3 + 4 + 499 * 2
    assert passed == [passed[0]]
    assert passed[0] < 10
