"""rocprof-sys and rocprof-sys-python: never chosen, but they can be asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.backends.base import PcSampling, Wish
from rocm_perf.backends.probe import probe_machine
from rocm_perf.backends.profilers import PROFILERS
from rocm_perf.collect.plan.plan import plans
from rocm_perf.collect.request.request import Request
from rocm_perf.collect.run.session import record
from rocm_perf.errors import ToolAbsentError
from tests.fake_tools import ROCM_TOOLS, SYSTEM_TOOLS, fake_path
from tests.unit.backends.machines import amd

MACHINE = amd(tools=("rocprofv3", "rocprof-sys", "rocprof-sys-python"))
TRACE = Wish(domains=("kernel", "hip", "copy"))


def request(profiler: str = "", **more: object) -> Request:
    return Request(command=("true",), wish=TRACE, profiler=profiler, **more)  # type: ignore[arg-type]


def test_it_is_not_chosen_but_can_be_asked_for() -> None:
    assert all("rocprof-sys" not in plan.profiler for plan in plans(request(), MACHINE, Path("/out")))
    (plan,) = plans(request("rocprof-sys"), MACHINE, Path("/out"))
    assert plan.why == "you asked for it"
    command = plan.runs[0].command
    assert command.argv == ("/opt/rocm/bin/rocprof-sys", "--", "true")
    assert command.environment["ROCPROFSYS_OUTPUT_PATH"] == "/out/pass_1"
    assert command.environment["ROCPROFSYS_ROCM_DOMAINS"] == "kernel_dispatch,hip_runtime_api,memory_copy"
    with pytest.raises(ToolAbsentError, match="it is not on this machine"):
        plans(request("rocprof-sys"), amd(), Path("/out"))


def test_what_it_does_not_record() -> None:
    tool = PROFILERS["rocprof-sys"]
    for wish in (
        Wish(counters=("SQ_WAVES",)),
        Wish(att=True),
        Wish(pc_sampling=PcSampling("host_trap", "time", 1)),
    ):
        assert tool.refusal(wish, MACHINE)
    python = PROFILERS["rocprof-sys-python"]
    assert "not a Python program" in python.app_refusal(("./app",), Path("/out"), is_python=False)


@pytest.mark.launches
@pytest.mark.parametrize("profiler", ["rocprof-sys", "rocprof-sys-python"])
def test_its_timeline_is_read(profiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in fake_path(tmp_path, (*ROCM_TOOLS, *SYSTEM_TOOLS)).items():
        monkeypatch.setenv(name, value)
    asked = request(profiler, is_python=True, output=str(tmp_path / "runs"))
    recorded = record(asked, probe_machine(), lambda _: None)
    assert (recorded.exit_code, recorded.record.profiler) == (0, profiler)
    assert recorded.trace is not None
    assert recorded.trace.rows("dispatches") > 0
