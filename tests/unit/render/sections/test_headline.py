"""The first line: how much the GPU works in the part that is judged, which pauses do not belong to."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rocm_perf import api
from rocm_perf.analysis.overview import examine, overview
from rocm_perf.cli.demo import workload_file
from rocm_perf.render.sections.headline import limit_line, worth
from rocm_perf.units import NS_PER_MS, NS_PER_US
from tests.unit.analysis.traces import kernel, trace

MS, US = NS_PER_MS, NS_PER_US


def test_pauses_are_told_apart() -> None:
    """Kernels of a millisecond every two, in three blocks that lie 100 and 200 ms apart."""
    starts = [block + 2 * MS * number for block in (0, 140 * MS, 380 * MS) for number in range(20)]
    rows = [kernel(f"k{number}", at, at + MS - number) for number, at in enumerate(starts)]
    document = overview(trace(dispatches=rows), "run")
    (line,) = limit_line(document)
    assert line.startswith("Apart from 2 pauses of 302 ms in all, the GPU works 60.0 ms of 117 ms (51.3 %)")
    idle = next(finding for finding in document.findings if finding.id == "host-not-recorded")
    assert worth(idle, document).startswith("57.0 ms of 117 ms")


@pytest.mark.parametrize("gap", [0, 300 * MS])
def test_one_pause_or_none(gap: int) -> None:
    starts = [2 * MS * number + (gap if number >= 20 else 0) for number in range(40)]
    rows = [kernel(f"k{number}", at, at + MS - number * US) for number, at in enumerate(starts)]
    (line,) = limit_line(overview(trace(dispatches=rows), "run"))
    assert line.startswith("Apart from a pause of 301 ms, the GPU works" if gap else "The GPU works")


@pytest.mark.parametrize(
    ("late", "step"), [(0, "In a step the GPU"), (MS, "In a step, up to the end of its last work, the GPU")]
)
def test_a_step_that_lasts_longer_than_its_phase_says_so(late: int, step: str) -> None:
    document = examine(api.simulate(workload_file("sync_in_loop")), "run")
    (phase,) = [row for row in document.phases.rows if row.name == "steady"]
    phases = replace(document.phases, rows=(replace(phase, end_ns=phase.end_ns - late),))
    (line,) = limit_line(replace(document, phases=phases))
    assert line.startswith(step)
