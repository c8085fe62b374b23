"""What kernels would save at the roof of their GPU."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.graph import build
from rocm_perf.analysis.path.at_roof import kernels_at_roof
from rocm_perf.analysis.path.whatif import whatif
from rocm_perf.analysis.roofline import roofline
from rocm_perf.errors import UsageError
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, trace
from tests.unit.bench.ceilings.measured import measured, rate

AGENT: Row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx942", "name": "AMD Instinct MI300X", "cu_count": 304}
COUNTED = dict.fromkeys(
    ("TCC_BUBBLE_sum", "TCC_EA0_RDREQ_32B_sum", "TCC_EA0_WRREQ_sum", "TCC_EA0_WRREQ_64B_sum"), 0.0
)


@pytest.fixture
def recording() -> Trace:
    """One kernel that reads 2 MB in 1 us, 2 TB/s, and one whose work was not counted, as long."""
    names = ("read", "other")
    kernels = [
        {
            "kernel": name,
            "dispatch_id": n,
            "agent_id": 0,
            "pid": 1,
            "start_ns": 1000 * n,
            "end_ns": 1000 * n + 1000,
        }
        for n, name in enumerate(names)
    ]
    counters = [
        {"dispatch_id": 0, "agent_id": 0, "pid": 1, "counter": name, "value": value}
        for name, value in {**COUNTED, "TCC_EA0_RDREQ_sum": 31_250.0}.items()
    ]
    return trace(agents=[AGENT], dispatches=kernels, counters=counters)


def test_the_data_sheet_and_a_measured_roof(recording: Trace) -> None:
    """2 TB/s of 5.3 leave 377 ns of 1000; of 4, 500."""
    for machines, left_ns, source in (
        ((), 377, "data sheet"),
        ((measured(rate("memory copy", 4.0)),), 500, "measured on node7 on 2026-11-16"),
    ):
        change = kernels_at_roof(roofline(recording, machines=machines), "read|other")
        projection = whatif(build(recording), change)
        assert projection.wall_ns == pytest.approx(1000 + left_ns, abs=1)
        assert projection.change == "kernels read|other at their roof"
        (said,) = (line for line in projection.assumptions if "peaks of the GPU" in line)
        assert source in said
        assert said.endswith("1 more, whose work or peaks are not known, take as long as recorded")


def test_a_kernel_above_its_roof_takes_as_long_as_recorded(recording: Trace) -> None:
    points = roofline(recording, machines=(measured(rate("memory copy", 1.95)),))
    assert kernels_at_roof(points, "read").factors == {"read": 1.0}


def test_without_a_known_roof_there_is_nothing_to_project(recording: Trace) -> None:
    with pytest.raises(UsageError, match="no kernel 'other' has a known roof: its"):
        kernels_at_roof(roofline(recording), "other")
    with pytest.raises(UsageError, match="no kernel's name matches"):
        kernels_at_roof(roofline(recording), "absent")
