"""Short ways to a run."""

from __future__ import annotations

from dataclasses import replace

from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.timeline import START_NS, Item, Run
from rocm_perf.sim.workload import parse_workload

MI300X = find_gpu("sim:MI300X")
STEADY = replace(MI300X, clock={})  # no clock ramp: times are the sums of their parts

KERNELS = """
name = "test"
[kernel.big]
duration_us = 20.0
grid = [1048576]
[kernel.small]
duration_us = 10.0
grid = [51200]
"""


def thread(steps: str, rank: int = 0) -> str:
    return f'[[thread]]\nname = "thread of {rank}"\nrank = {rank}\nsteps = [{steps}]\n'


def run_steps(*threads: str) -> Run:
    """The run of threads that launch `big` (fills the GPU, 20 us) and `small` (a third of it, 10 us)."""
    texts = [one if one.startswith("[[") else thread(one) for one in threads]
    return simulate(parse_workload(KERNELS + "".join(texts)), STEADY)


def items(run: Run, kind: str) -> list[Item]:
    return [item for item in run.items if item.kind == kind]


def spans(run: Run, kind: str) -> list[tuple[int, int]]:
    """Start and end of each item, from the start of the run."""
    return [(item.start - START_NS, item.end - START_NS) for item in items(run, kind)]
