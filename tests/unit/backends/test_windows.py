"""Which profiler keeps to which window, how, and why not; and that the stand-ins record what was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.backends.base import Domain, Wish
from rocm_perf.backends.machine import Machine, Tool, Torch
from rocm_perf.backends.nvidia.ncu import NcuProfiler
from rocm_perf.backends.profilers import PROFILERS
from rocm_perf.backends.window_variables import window_variables
from rocm_perf.ingest.load import load
from rocm_perf.model.window import PROFILER_CALLS, Window
from tests.fake_tools import fake_path, run_tool
from tests.unit.backends.machines import amd, nvidia

TRACE: tuple[Domain, ...] = ("kernel", "hip")
CLOCK = Window(delay_s=5, duration_s=2)
CALLS = Window(range=PROFILER_CALLS)
NAMED = Window(range="step")
OPENINGS = Window(range="step", steps=(2, 3))
STEPS = Window(steps=(2, 3))
BOTH = Window(delay_s=60, duration_s=5, range="step")
RECURRING = Window(duty=0.1, period_s=60)
RING = Window(last_s=30)
SIZE = Window(max_bytes=10**9)
TOOLS = ("rocprofv3", "rocprofv2", "rocprof")


def refusal(name: str, window: Window, machine: Machine) -> str:
    wish = Wish(domains=TRACE, window=window, counters=("x",) if name == "ncu" else ())
    return PROFILERS[name].window_refusal(wish, machine)


@pytest.mark.parametrize(
    ("name", "machine", "kept"),
    [
        ("rocprofv3", amd(rocm="7.2", tools=TOOLS), (CLOCK, CALLS, RECURRING)),
        ("rocprofv3", amd(rocm="6.4", tools=TOOLS), (CLOCK, RECURRING)),
        ("rocprofv3", amd(rocm="6.2", tools=TOOLS), ()),
        ("rocprofv2", amd(rocm="5.7", tools=TOOLS), (CLOCK, RECURRING)),
        ("rocprof", amd(rocm="5.7", tools=TOOLS), (CLOCK, CALLS, RECURRING)),
        ("cupti", nvidia(), (CLOCK, CALLS, NAMED, OPENINGS, BOTH, RECURRING, RING, SIZE)),
        ("ncu", nvidia(), (CALLS, NAMED, OPENINGS)),
        (
            "torch",
            amd(torch=Torch(python="p", version="2.9.0+rocm7")),
            (CLOCK, CALLS, NAMED, OPENINGS, STEPS),
        ),
        ("torch", amd(torch=Torch(python="p", version="2.7.1")), (CALLS, NAMED, OPENINGS, STEPS)),
    ],
)
def test_what_each_profiler_keeps_to(name: str, machine: Machine, kept: tuple[Window, ...]) -> None:
    windows = (CLOCK, CALLS, NAMED, OPENINGS, STEPS, BOTH, RECURRING, RING, SIZE)
    refusals = {window: refusal(name, window, machine) for window in windows}
    assert tuple(window for window in windows if not refusals[window]) == kept
    assert refusal(name, Window(), machine) == ""
    for reason in filter(None, refusals.values()):
        assert len(reason) < 160
        assert "\n" not in reason


def test_reasons_name_what_would_do() -> None:
    machine = amd(rocm="7.2", tools=TOOLS)
    assert "roctxProfilerResume(0)" in refusal("rocprofv3", NAMED, machine)
    assert "from ROCm 7.0 on" in refusal("rocprofv3", CALLS, amd(rocm="6.4"))
    assert "from ROCm 6.4 on" in refusal("rocprofv3", CLOCK, amd(rocm="6.2"))
    assert "--range" in refusal("cupti", STEPS, nvidia())
    assert "2,147 s" in refusal("rocprof", Window(duration_s=5000), amd(rocm="5.7", tools=TOOLS))
    kernels = Wish(domains=("kernel",), window=CLOCK)
    assert "--hip-trace" in PROFILERS["rocprof"].window_refusal(kernels, amd(rocm="5.7", tools=TOOLS))
    counting = Wish(counters=("SQ_WAVES",), window=CLOCK)
    assert "whatever the period" in PROFILERS["rocprofv3"].window_refusal(counting, machine)
    assert "stops the program to write" in refusal("torch", RECURRING, amd())
    ending = Window(duty=0.1, period_s=60, duration_s=600)
    assert "leave --duration out" in refusal("rocprofv2", ending, machine)
    assert refusal("rocprofv3", ending, machine) == ""
    old = nvidia({"ncu": Tool(name="ncu", path="ncu", version="2022.1.0")})
    assert "2023.2" in refusal("ncu", OPENINGS, old)
    assert refusal("ncu", NAMED, old) == ""


def test_the_variables_are_the_tracers_contract() -> None:
    assert window_variables(Window()) == {}
    every = Window(
        delay_s=0, duration_s=100_000, last_s=1.25, max_bytes=2_000_000_000, range="a b", steps=(3, 50)
    )
    assert window_variables(every) == {
        "ROCM_PERF_WINDOW_DELAY_S": "0",
        "ROCM_PERF_WINDOW_DURATION_S": "100000",
        "ROCM_PERF_WINDOW_LAST_S": "1.25",
        "ROCM_PERF_WINDOW_MAX_BYTES": "2000000000",
        "ROCM_PERF_WINDOW_RANGE": "a b",
        "ROCM_PERF_WINDOW_STEPS": "3..50",
    }
    command = PROFILERS["cupti"].command(Wish(domains=TRACE, window=RING), ("./app",), Path("/o"), nvidia())
    assert command.environment["ROCM_PERF_WINDOW_LAST_S"] == "30"


@pytest.mark.parametrize(
    ("name", "window", "option"),
    [
        ("rocprofv3", RECURRING, ("--collection-period", "27:6:1", "54:6:0")),
        (
            "rocprofv3",
            Window(duty=0.1, period_s=60, duration_s=150, delay_s=5),
            ("--collection-period", "5:6:1", "54:6:2"),
        ),
        ("rocprofv2", RECURRING, ("-tp", "27000:6000:60000")),
        ("rocprof", RECURRING, ("--trace-period", "27000000us:6000000us:60000000us")),
    ],
)
def test_windows_that_recur_in_the_words_of_each(name: str, window: Window, option: tuple[str, ...]) -> None:
    machine = amd(rocm="7.2", tools={each: Tool(name=each, path=each, rocm="7.2") for each in TOOLS})
    argv = PROFILERS[name].command(Wish(domains=TRACE, window=window), ("app",), Path("/o"), machine).argv
    place = argv.index(option[0])
    assert argv[place : place + len(option)] == option


def test_the_tracer_is_told_when_windows_recur() -> None:
    assert window_variables(RECURRING) == {
        "ROCM_PERF_WINDOW_DELAY_S": "27",
        "ROCM_PERF_WINDOW_OPEN_S": "6",
        "ROCM_PERF_WINDOW_PERIOD_S": "60",
    }


def test_torch_counts_steps_by_its_own_schedule() -> None:
    def variables(window: Window) -> dict[str, str]:
        wish = Wish(domains=TRACE, window=window)
        return PROFILERS["torch"].command(wish, ("python",), Path("/o"), amd()).environment

    steps = variables(Window(steps=(4, 6)))
    assert [steps[f"ROCM_PERF_TORCH_{name}"] for name in ("WAIT", "WARMUP", "ACTIVE")] == ["2", "1", "3"]
    first = variables(Window(steps=(1, 1)))
    assert [first[f"ROCM_PERF_TORCH_{name}"] for name in ("WAIT", "WARMUP", "ACTIVE")] == ["0", "0", "1"]
    assert not any(name.startswith("ROCM_PERF_WINDOW") for name in steps)
    assert variables(OPENINGS)["ROCM_PERF_WINDOW_STEPS"] == "2..3"


@pytest.mark.parametrize(
    ("name", "escaped"), [("step", "step"), ("a/b@c", r"a\/b\@c"), ("x[1]*+,\\", r"x\[1\]\*\+\,\\")]
)
def test_ncu_takes_a_name_as_it_is(name: str, escaped: str) -> None:
    wish = Wish(counters=("dram_bytes",), window=Window(range=name))
    argv = NcuProfiler().command(wish, ("./app",), Path("/o"), nvidia()).argv
    place = argv.index("--nvtx")
    assert argv[place : place + 5] == ("--nvtx", "--nvtx-include", f"{escaped}/", "--nvtx-include", escaped)


@pytest.mark.launches
@pytest.mark.parametrize(
    ("name", "rocm", "window", "dispatches"),
    [
        ("rocprofv3", "7.2", Window(), 6),
        ("rocprofv3", "7.2", Window(duration_s=3600), 6),
        ("rocprofv3", "6.4", Window(delay_s=0), 6),
        ("rocprofv3", "10.0", CALLS, 6),
        ("rocprofv2", "5.7", Window(delay_s=0, duration_s=60), 6),
        ("rocprof", "5.7", Window(duration_s=60), 6),
        ("rocprof", "5.7", CALLS, 6),
        ("rocprofv3", "7.2", Window(duty=0.5, period_s=2, delay_s=0), 6),
        ("rocprofv2", "5.7", Window(duty=0.5, period_s=2, delay_s=0), 6),
    ],
)
def test_the_stand_in_of_the_release_records_what_is_in_the_window(
    tmp_path: Path, name: str, rocm: str, window: Window, dispatches: int
) -> None:
    environment = fake_path(tmp_path, TOOLS, FAKE_ROCM=rocm)
    tools = {each: Tool(name=each, path=each, rocm=rocm) for each in TOOLS}
    out = tmp_path / "out"
    wish = Wish(domains=("kernel", "hip", "copy"), window=window)
    command = PROFILERS[name].command(wish, ("true",), out, amd(rocm=rocm, tools=tools))
    out.mkdir()
    done = run_tool(environment, *command.argv, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    trace = load(out, as_one=True)
    assert trace.rows("dispatches") == dispatches
    if name != "rocprofv2":  # its files have no copies
        assert trace.rows("copies") == (1 if window == CALLS else 2)  # the last one is outside of the range


@pytest.mark.launches
def test_the_stand_in_opens_its_windows_again(tmp_path: Path) -> None:
    tools = {"rocprofv3": Tool(name="rocprofv3", path="rocprofv3", rocm="7.2")}
    wish = Wish(domains=("kernel",), window=Window(duty=0.5, period_s=20e-6))
    command = PROFILERS["rocprofv3"].command(wish, ("true",), tmp_path / "out", amd(rocm="7.2", tools=tools))
    environment = fake_path(tmp_path, ["rocprofv3"], FAKE_ROCM="7.2")
    assert run_tool(environment, *command.argv, cwd=tmp_path).returncode == 0
    starts = load(tmp_path / "out", as_one=True).table("dispatches")["start_ns"].sort()
    assert 1 < starts.len() < 6
    assert ((starts - starts[0]) // 10_000).unique().len() > 1  # more than one window


@pytest.mark.launches
@pytest.mark.parametrize(
    ("window", "kernels"),
    [
        (Window(), 6),
        (NAMED, 6),
        (CALLS, 6),
        (Window(range="step", steps=(1, 1)), 6),
        (Window(range="step", steps=(2, 3)), 0),
        (Window(range="other"), 0),
    ],
)
def test_ncu_counts_in_ranges(tmp_path: Path, window: Window, kernels: int) -> None:
    environment = fake_path(tmp_path, ["ncu"])
    machine = nvidia({"ncu": Tool(name="ncu", path="ncu", version="2025.3.1")})
    wish = Wish(counters=("dram_bytes",), window=window)
    command = NcuProfiler().command(wish, ("true",), tmp_path, machine)
    done = run_tool(environment, *command.argv, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "ncu.csv").read_text()
    assert text.count('"sm_') + text.count('"9.0"') == kernels
