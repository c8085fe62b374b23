"""Which profiler, which runs, and why."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rocm_perf.backends.base import DOMAINS, PcSampling, Wish
from rocm_perf.backends.machine import FoundGpu, Machine
from rocm_perf.backends.profilers import PROFILERS
from rocm_perf.collect.plan.plan import plans
from rocm_perf.collect.plan.planned import Plan
from rocm_perf.collect.request.presets import preset, presets
from rocm_perf.collect.request.request import Request
from rocm_perf.errors import NotSupportedError, RocmPerfError, ToolAbsentError, UsageError
from rocm_perf.model.window import Window
from tests.unit.backends.machines import amd, nvidia, torch

OUT = Path("/out")
APP = ("./app", "--", "--weird args")
LIGHT = Wish(domains=("kernel", "hip"))
ALL_TOOLS = ("rocprofv3", "rocprofv2", "rocprof")


def request(wish: Wish = LIGHT, *counters: str, **more: object) -> Request:
    return replace(Request(command=APP, wish=wish, counters=counters), **more)


def names(found: tuple[Plan, ...]) -> list[str]:
    return [plan.profiler for plan in found]


def purposes(plan: Plan) -> list[str]:
    return [run.purpose for run in plan.runs]


def test_the_order_on_amd() -> None:
    machine = amd(tools=ALL_TOOLS, torch=torch(hip="7.2"))
    python = request(command=("python", "x.py"), is_python=True)
    assert names(plans(python, machine, OUT)) == [*ALL_TOOLS, "torch", "timing"]
    assert names(plans(request(), machine, OUT)) == [*ALL_TOOLS, "timing"]
    old = plans(request(), amd(rocm="5.7", tools=("rocprofv2", "rocprof")), OUT)
    assert names(old) == ["rocprofv2", "rocprof", "timing"]
    assert [each.profiler for each in old[0].rejected] == ["rocprofv3"]
    assert "not on this machine" in old[0].rejected[0].reason


def test_the_order_elsewhere() -> None:
    python = request(command=("python", "x.py"), is_python=True)
    assert names(plans(python, Machine(host="x", torch=torch()), OUT)) == ["torch", "timing"]
    alone = plans(request(), Machine(host="x"), OUT)
    assert names(alone) == ["timing"]
    assert alone[0].could_not
    assert "not a Python program" in alone[0].rejected[0].reason
    isolated = plans(
        request(command=("python", "-I", "x.py"), is_python=True), Machine(host="x", torch=torch()), OUT
    )
    assert names(isolated) == ["timing"]
    assert names(plans(request(), nvidia(), OUT)) == ["cupti", "timing"]


def test_a_counter_of_no_chip_is_refused_where_there_is_no_gpu_too() -> None:
    with pytest.raises(UsageError, match=r"SQ_WAVEZ is not a counter of any chip.*SQ_WAVES"):
        plans(request(LIGHT, "SQ_WAVEZ"), Machine(host="x"), OUT)
    for known in ("SQ_WAVES", "memory_bound", "dram_read_bytes", "sm__throughput.avg.per_second"):
        assert names(plans(request(LIGHT, known), Machine(host="x"), OUT)) == ["timing"]


def test_timing_is_no_fallback_when_it_is_all_that_was_asked() -> None:
    (plan,) = plans(request(Wish()), amd(), OUT)
    assert (plan.profiler, plan.could_not, plan.runs[0].command.argv) == ("timing", (), APP)


def test_one_trace_and_as_many_counter_runs_as_it_takes() -> None:
    first, *_ = plans(request(LIGHT, "compute_bound"), amd(), OUT)
    assert purposes(first) == ["trace", *["counters"] * 4]
    assert [run.folder for run in first.runs] == ["pass_1", "pass_2", "pass_3", "pass_4", "pass_5"]
    assert all("--kernel-trace" in run.command.argv for run in first.runs)
    assert "--hip-trace" not in first.runs[1].command.argv
    counted = {name for run in first.runs for name in run.counters}
    assert {"SQ_WAVES", "SQ_INSTS_VALU_FMA_F32"} <= counted
    assert not first.could_not


def test_kernels_and_counters_need_no_run_of_their_own() -> None:
    for domains in ((), ("kernel",)):
        first, *_ = plans(request(Wish(domains=domains), "SQ_WAVES"), amd(), OUT)
        assert purposes(first) == ["counters"]


def test_passes_of_the_user_stay_as_they_are_where_they_fit() -> None:
    own = (("SQ_WAVES", "SQ_INSTS_VALU"), ("GRBM_COUNT",))
    first, *_ = plans(request(Wish(), counter_passes=own), amd(), OUT)
    assert tuple(run.counters for run in first.runs) == own
    many = tuple(f"TCC_{name}_sum" for name in ("HIT", "MISS", "REQ", "READ", "WRITE"))
    split, *_ = plans(request(Wish(), counter_passes=(many,)), amd(), OUT)
    assert len(split.runs) == 2
    assert any("split into 2" in notice for notice in split.notices)


def test_pc_sampling_and_thread_traces_are_runs_of_their_own() -> None:
    wish = Wish(domains=("kernel", "hip"), pc_sampling=PcSampling("host_trap", "time", 100), att=True)
    able = amd(tools=("rocprofv3", "att-decoder"))
    first, *_ = plans(request(wish), able, OUT)
    assert purposes(first) == ["trace", "pc sampling", "thread trace"]
    assert "--att" in first.runs[2].command.argv
    assert "--att" not in first.runs[1].command.argv
    lacking, *_ = plans(request(wish), amd(), OUT)
    assert purposes(lacking) == ["trace", "pc sampling"]
    assert any("rocprof-trace-decoder" in reason for reason in lacking.could_not)


@pytest.mark.parametrize(("gfx", "rocm"), [("gfx1151", "6.4"), ("gfx1151", "7.0"), ("gfx9999", "7.2")])
def test_without_counters_the_trace_remains(gfx: str, rocm: str) -> None:
    for wish in (LIGHT, Wish()):
        first, *_ = plans(request(wish, "SQ_WAVES", "counters_basic"), amd(gfx, rocm), OUT)
        assert purposes(first) == ["trace"]
        (reason,) = first.could_not
        assert reason.startswith("counters: ")
        assert "what remains: kernel and API trace, timing" in reason


def test_a_domain_that_the_release_lacks_is_told() -> None:
    first, *_ = plans(request(Wish(domains=("kernel", "rccl"))), amd(rocm="6.2"), OUT)
    assert first.could_not == ("rccl trace: rocprofv3 has it from ROCm 6.3 on, and this is 6.2",)


def test_counters_that_came_with_a_later_release() -> None:
    """Regression: the slots of a chip whose counters came late were looked up without the release."""
    first, *_ = plans(request(LIGHT, "counters_basic"), amd("gfx1151", "7.2"), OUT)
    assert purposes(first) == ["trace", "counters", "counters"]


@pytest.mark.parametrize("gfx", ["gfx942", "gfx1151"])
def test_an_unknown_counter_starts_nothing(gfx: str) -> None:
    with pytest.raises(UsageError, match="SQ_WAVEZ is not a counter of any chip"):
        plans(request(LIGHT, "SQ_WAVEZ"), amd(gfx, "6.4"), OUT)


@pytest.mark.parametrize("gfx", ["gfx942", "gfx1151"])
def test_a_misspelt_set_of_counters_is_named(gfx: str) -> None:
    with pytest.raises(UsageError, match="nearest set of counters is counters_basic"):
        plans(request(LIGHT, "counters_basc"), amd(gfx, "6.4"), OUT)


def test_several_kinds_of_gpus() -> None:
    gpus = tuple(
        FoundGpu(index=n, vendor="AMD", gfx=gfx) for n, gfx in enumerate(("gfx942:sramecc+", "gfx1100"))
    )
    first, *_ = plans(request(LIGHT, "SQ_WAVES"), replace(amd(), gpus=gpus), OUT)
    assert any("those of gfx942; gfx1100 may lack" in notice for notice in first.notices)


def test_a_forced_profiler_is_used_alone_or_refused() -> None:
    machine = amd(tools=ALL_TOOLS)
    assert names(plans(request(profiler="rocprof"), machine, OUT)) == ["rocprof"]
    with pytest.raises(UsageError, match="the nearest is rocprofv2"):
        plans(request(profiler="rocprov2"), machine, OUT)
    with pytest.raises(ToolAbsentError, match="rocprofv2"):
        plans(request(profiler="rocprofv2"), amd(), OUT)
    with pytest.raises(NotSupportedError, match="not a Python program"):
        plans(request(profiler="torch"), replace(machine, torch=torch()), OUT)
    with pytest.raises(ToolAbsentError, match="torch"):
        plans(request(profiler="torch", is_python=True), machine, OUT)
    with pytest.raises(RocmPerfError):
        plans(request(profiler="cupti"), machine, OUT)


def test_scripts_are_passed_over_where_the_folder_has_a_blank() -> None:
    found = plans(request(), amd(tools=ALL_TOOLS), Path("/my runs"))
    assert names(found) == ["rocprofv3", "timing"]


def test_tool_arguments_are_for_the_first_profiler_alone() -> None:
    found = plans(request(replace(LIGHT, tool_args=("--kernel-rename",))), amd(tools=ALL_TOOLS), OUT)
    assert ["--kernel-rename" in plan.runs[0].command.argv for plan in found] == [True, False, False, False]


def test_counters_on_nvidia_are_ncus() -> None:
    first, *_ = plans(request(LIGHT, "counters_basic"), nvidia(), OUT)
    assert [run.profiler for run in first.runs] == ["cupti", "ncu"]
    assert first.runs[1].counters == ("counters_basic",)
    without, *_ = plans(request(LIGHT, "counters_basic"), nvidia(tools=("cupti", "cupti.h", "c++")), OUT)
    assert [run.profiler for run in without.runs] == ["cupti"]
    assert any(reason.startswith("counters: ") for reason in without.could_not)
    (alone,) = plans(request(profiler="ncu"), nvidia(), OUT)
    assert [run.counters for run in alone.runs] == [("counters_basic",)]


def test_pc_sampling_on_nvidia_is_told() -> None:
    wish = Wish(domains=("kernel",), pc_sampling=PcSampling("host_trap", "time", 1))
    first, *_ = plans(request(wish), nvidia(), OUT)
    assert any("pc sampling" in reason.lower() for reason in first.could_not)


@pytest.mark.parametrize("name", list(presets()))
def test_every_preset_plans_in_full_on_a_new_instinct(name: str) -> None:
    chosen = preset(name)
    machine = amd(tools=("rocprofv3", "att-decoder"))
    first, *_ = plans(request(chosen.wish, *chosen.counters), machine, OUT)
    assert not first.could_not


WORD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
COUNTER = st.sampled_from(["SQ_WAVES", "counters_basic", "full_profile", "GRBM_COUNT", "no such", ""]) | WORD
WISHES = st.builds(
    Wish,
    domains=st.lists(st.sampled_from(DOMAINS), unique=True).map(tuple),
    pc_sampling=st.none()
    | st.builds(
        PcSampling,
        st.sampled_from(["host_trap", "stochastic"]),
        st.sampled_from(["time", "cycles", "instructions"]),
        st.integers(1, 1 << 40),
    ),
    att=st.booleans(),
    stats=st.booleans(),
    formats=st.lists(st.sampled_from(["csv", "json", "rocpd", "pftrace", "otf2"])).map(tuple),
    kernel_include=WORD,
    iteration_range=st.lists(WORD).map(tuple),
)
MACHINES = st.builds(
    amd,
    gfx=st.sampled_from(["gfx942", "gfx90a", "gfx1100", "gfx1151", "gfx906", "gfx950", "gfx1", ""]),
    rocm=st.sampled_from(["", "5.7", "6.2", "6.4", "7.0", "7.2.1", "10.0", "junk"]),
    tools=st.lists(st.sampled_from([*ALL_TOOLS, "att-decoder"]), unique=True).map(tuple),
) | st.builds(nvidia, tools=st.lists(st.sampled_from(["cupti", "cupti.h", "c++", "ncu"])).map(tuple))


REQUESTS = st.builds(
    Request,
    command=st.lists(WORD, min_size=1).map(tuple),
    wish=WISHES,
    counters=st.lists(COUNTER, max_size=3).map(tuple),
    counter_passes=st.lists(st.lists(COUNTER, max_size=3).map(tuple), max_size=2).map(tuple),
    profiler=st.sampled_from(["", *PROFILERS]),
    is_python=st.booleans(),
)


@given(REQUESTS, MACHINES)
def test_planning_refuses_in_words_and_hands_the_application_on(asked: Request, machine: Machine) -> None:
    try:
        found = plans(asked, machine, OUT)
    except RocmPerfError:
        return
    assert found[-1].profiler == (asked.profiler or "timing")
    for run in (run for plan in found for run in plan.runs):
        through_a_file = any(path.endswith("application.sh") for path in run.command.files)
        assert through_a_file or run.command.argv[-len(asked.command) :] == asked.command


def test_what_the_counting_profiler_leaves_out_is_not_taken_for_a_refusal() -> None:
    wish = replace(LIGHT, kernel_exclude="copy")
    first, *_ = plans(request(wish, "counters_basic"), nvidia(), OUT)
    assert "kernels to leave out: ncu has no such filter" in first.could_not


def test_a_profiler_forced_for_any_gpu_stays_alone() -> None:
    machine = nvidia(torch=torch(cuda="13.0"))
    asked = request(LIGHT, "counters_basic", command=("python", "x.py"), is_python=True, profiler="torch")
    (alone,) = plans(asked, machine, OUT)
    assert [run.profiler for run in alone.runs] == ["torch"]
    assert any(reason.startswith("counters: torch.profiler has no counters") for reason in alone.could_not)
    (timed,) = plans(replace(asked, profiler="timing"), machine, OUT)
    assert [(run.profiler, run.purpose) for run in timed.runs] == [("timing", "wall time")]
    assert timed.could_not == (
        "counters: without a profiler only the wall time is known",
        "kernel, hip trace: without a profiler only the wall time is known",
    )


def test_a_machine_with_gpus_of_both_vendors_has_both_to_force() -> None:
    both = amd(tools={**amd().tools, **nvidia().tools}, gpus=(*amd().gpus, *nvidia().gpus))
    (forced,) = plans(request(LIGHT, "counters_basic", profiler="cupti"), both, OUT)
    assert [run.profiler for run in forced.runs] == ["cupti", "ncu"]


def test_a_window_is_kept_by_every_run_or_that_run_is_left_out() -> None:
    clock = replace(LIGHT, window=Window(delay_s=5, duration_s=2))
    first = plans(request(clock, "SQ_WAVES"), amd(tools=ALL_TOOLS), OUT)[0]
    assert purposes(first) == ["trace"]
    assert any("whatever the period" in reason for reason in first.could_not)
    calls = replace(LIGHT, window=Window(range="@profiler"))
    first = plans(request(calls, "SQ_WAVES"), amd(tools=ALL_TOOLS), OUT)[0]
    assert purposes(first) == ["trace", "counters"]
    assert all("--selected-regions" in run.command.argv for run in first.runs)


def test_who_cannot_keep_to_a_window_is_passed_over() -> None:
    calls = replace(LIGHT, window=Window(range="@profiler"))
    ways = plans(request(calls), amd(rocm="6.4", tools=ALL_TOOLS), OUT)
    assert names(ways) == ["rocprof", "timing"]
    assert [each.profiler for each in ways[0].rejected] == ["rocprofv3", "rocprofv2"]
    assert "from ROCm 7.0 on" in ways[0].rejected[0].reason


def test_a_window_that_nobody_keeps_to_starts_nothing() -> None:
    ring = request(replace(LIGHT, window=Window(last_s=30)))
    with pytest.raises(
        NotSupportedError, match="no profiler here can record the last 30 s: rocprofv3 has no ring"
    ):
        plans(ring, amd(tools=ALL_TOOLS), OUT)
    with pytest.raises(NotSupportedError, match="rocprofv3 has no ring"):
        plans(replace(ring, profiler="rocprofv3"), amd(tools=ALL_TOOLS), OUT)
    assert names(plans(ring, nvidia(), OUT)) == ["cupti", "timing"]
    alone = plans(ring, Machine(host="x"), OUT)  # not the window's fault
    assert names(alone) == ["timing"]
    steps = request(replace(LIGHT, window=Window(steps=(2, 3))), command=("python", "x.py"), is_python=True)
    assert names(plans(steps, nvidia(torch=torch(cuda="13.0")), OUT)) == ["torch", "timing"]
