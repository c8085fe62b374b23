"""Graphs that were replayed: each as one unit, with its launches, its period and its inner order."""

from __future__ import annotations

import msgspec

from rocm_perf.model.adoption import Adoption


class GraphKernel(msgspec.Struct, frozen=True):
    """One kernel of a graph."""

    kernel: str
    short_name: str
    position: int  # of its first dispatch in a replay, from 1 on
    dispatches: int  # of one replay
    replay_ns: float  # of all of them in one replay, on average
    share: float  # of the kernel time of the graph
    operator: str | None  # that owns most of it, where that is known
    shapes: str | None = None  # JSON list of argument shapes of most calls of it


class GraphCaller(msgspec.Struct, frozen=True):
    """What launched a graph: the user's function, else the operator or the range, around the call."""

    name: str
    kind: str  # python, operator or range
    launches: int


class Graph(msgspec.Struct, frozen=True):
    """All replays that ran the same kernels in the same order; of a recorder that numbers graphs, those of a number."""

    kernels: int  # of one replay
    launches: int
    incomplete: int  # of them: replays that lack some of the kernels
    gpu_ns: int  # sum of its kernels
    share: float  # of the kernel time of the recording
    replay_ns: float  # median from the first start to the last end
    period_ns: float | None  # median from the start of one replay to that of the next
    call: str | None  # the function that launches it
    callers: tuple[GraphCaller, ...]
    order: tuple[GraphKernel, ...]  # the kernels with most time, in the order in which they first run
    captured: tuple[str, ...]  # names of the captures that it is of
    owned_ns: int  # of gpu_ns: kernels that agree with a captured launch


class Graphs(msgspec.Struct, frozen=True):
    """Every graph that was replayed, most kernel time first, or why there is none."""

    rows: tuple[Graph, ...]
    launches: int
    kernels: int
    gpu_ns: int
    owned_ns: int
    share: float  # of the kernel time of the recording
    adoption: Adoption | None
    unavailable: str | None = None
