"""What the simulated MI300X records of a workload."""

from __future__ import annotations

from rocm_perf.model.trace import Trace
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.record import record
from rocm_perf.sim.steps import Workload
from rocm_perf.sim.workload import parse_workload

SMALL = """
[kernel.k]
duration_us = 12.5
lds_bytes = 700
symbol = 'void f<int, 3>(char const*, "x")'
[[thread]]
steps = [{push = "step"}, {alloc = "a", bytes = 1024}, {copy = "H2D", bytes = 64}, {launch = "k"}, {sync = "device"},
  {free = "a", bytes = 1024}, {pop = "step"}]
"""


def recorded(workload: Workload) -> Trace:
    return record(simulate(workload, find_gpu("sim:MI300X")))


def small() -> Trace:
    """One of everything that a profiler of one process writes."""
    return recorded(parse_workload(SMALL))
