"""Counters through ncu: the planned command, what names mean on NVIDIA, and a run under the stand-in."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocm_perf
from rocm_perf.arch.counter_sets import counter_sets
from rocm_perf.arch.metrics import metrics_of
from rocm_perf.backends.base import Wish
from rocm_perf.backends.machine import FoundGpu, Machine, Tool
from rocm_perf.backends.nvidia.counters import metric_sets, ncu_metrics, replays_of
from rocm_perf.backends.nvidia.ncu import NcuProfiler
from rocm_perf.errors import RocmPerfError, UsageError
from tests.fake_tools import fake_path, run_tool

GPU = FoundGpu(index=0, vendor="NVIDIA", gfx="sm_90", name="NVIDIA H200")
NCU = Tool(name="ncu", path="/opt/ncu", version="2025.3.1")
MACHINE = Machine(host="h", gpus=(GPU,), tools={"ncu": NCU}, user="root")
BASIC = Wish(counters=("counters_basic",))
APP = ("./app", "--", "--weird", "-k")
FOLDER = Path("/runs/pass_2")


def argv(wish: Wish) -> tuple[str, ...]:
    return NcuProfiler().command(wish, APP, FOLDER, MACHINE).argv


def after(words: tuple[str, ...], option: str) -> str:
    return words[words.index(option) + 1]


def test_the_command() -> None:
    command = NcuProfiler().command(Wish(counters=("dram_bytes",)), APP, FOLDER, MACHINE)
    assert command.argv == (
        *("/opt/ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"),
        *("--target-processes", "all", "--metrics"),
        "gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum",
        *("--log-file", "/runs/pass_2/ncu.csv", *APP),
    )
    assert not command.separates_exit_code
    assert command.expected == ("ncu.csv",)
    assert command.notices == ()


def test_filters_are_translated_and_said() -> None:
    wish = Wish(
        counters=("flops",),
        kernel_include="gemm|relu",
        iteration_range=("[3-5]",),
        selected_regions=True,
        tool_args=("--cache-control", "none"),
    )
    words = argv(wish)
    assert after(words, "--kernel-name") == "regex:gemm|relu"
    assert after(words, "--kernel-name-base") == "demangled"
    assert (after(words, "--launch-skip"), after(words, "--launch-count")) == ("2", "3")
    assert after(words, "--profile-from-start") == "off"
    assert words[-len(APP) - 2 :] == ("--cache-control", "none", *APP)
    notices = " ".join(NcuProfiler().command(wish, APP, FOLDER, MACHINE).notices)
    assert "of all kernels" in notices
    assert "cudaProfilerStart" in notices


@pytest.mark.parametrize("text", ["0", "[5-3]", "1,3", "[1-2],[4-5]", "x"])
def test_ranges_that_ncu_does_not_have_are_dropped(text: str) -> None:
    wish = Wish(counters=("flops",), iteration_range=(text,))
    assert "--launch-skip" not in argv(wish)
    assert any("iteration range" in part for part in NcuProfiler().dropped(wish, MACHINE))


def test_one_launch() -> None:
    words = argv(Wish(counters=("flops",), iteration_range=("7",)))
    assert (after(words, "--launch-skip"), after(words, "--launch-count")) == ("6", "1")


def test_what_it_leaves_out_is_said() -> None:
    wish = Wish(
        counters=("flops",),
        domains=("kernel",),
        kernel_exclude="x",
        collection_period=("1:2:3",),
        formats=("csv", "pftrace"),
        output_name="%pid%",
    )
    dropped = " ".join(NcuProfiler().dropped(wish, MACHINE))
    for word in ("timeline", "leave out", "periods", "pftrace", "output name"):
        assert word in dropped
    assert "csv" not in dropped.replace("ncu.csv", "")
    assert NcuProfiler().dropped(BASIC, MACHINE) == ()


@pytest.mark.parametrize(
    ("machine", "wish", "reason"),
    [
        (Machine(host="h"), BASIC, "NVIDIA"),
        (Machine(host="h", gpus=(GPU,)), BASIC, "nsight-compute"),
        (MACHINE, Wish(), "none are asked"),
        (MACHINE, Wish(counters=("x",), att=True), "only for counters"),
        (
            Machine(host="h", gpus=(GPU,), tools={"ncu": NCU}, user="me", counters_need_root=True),
            BASIC,
            "ERR_NVGPUCTRPERM",
        ),
        (
            Machine(host="h", gpus=(GPU,), tools={"ncu": Tool(name="ncu", path="/n", problem="crashes")}),
            BASIC,
            "crashes",
        ),
    ],
)
def test_refusals(machine: Machine, wish: Wish, reason: str) -> None:
    assert reason in NcuProfiler().refusal(wish, machine)


@pytest.mark.parametrize(
    ("user", "capabilities"),
    [("root", ("CAP_SYS_ADMIN", "CAP_PERFMON")), ("me", ("CAP_SYS_ADMIN",)), ("me", ("CAP_PERFMON",))],
)
def test_privileged_users_may_count(user: str, capabilities: tuple[str, ...]) -> None:
    machine = Machine(
        host="h",
        gpus=(GPU,),
        tools={"ncu": NCU},
        user=user,
        capabilities=capabilities,
        counters_need_root=True,
    )
    assert NcuProfiler().refusal(BASIC, machine) == ""


def test_the_sets_have_the_names_that_they_have_on_amd() -> None:
    assert set(metric_sets()) == set(counter_sets())


@pytest.mark.parametrize(
    ("gfx", "metrics", "replays"), [("sm_80", 85, 7), ("sm_90", 87, 8), ("sm_100", 86, 8)]
)
def test_what_decides_is_asked_by_names_that_the_chip_has(gfx: str, metrics: int, replays: int) -> None:
    asked = ncu_metrics(("limits",), gfx)
    assert len(asked) == metrics
    assert any("pipe_tc_" in name for name in asked) == (gfx == "sm_100")
    assert not any(name.startswith("sm__throughput") for name in asked)  # eight replays for itself
    assert set(ncu_metrics(("limits_first",), gfx)) < set(asked)
    assert replays_of("limits", gfx) == replays


@pytest.mark.parametrize("metric", sorted(metrics_of("sm_90")))
def test_every_metric_of_ours_can_be_asked_for(metric: str) -> None:
    assert len(ncu_metrics((metric,), "sm_90")) > 1


def test_two_sets_give_every_metric_but_those_with_a_replay_of_their_own() -> None:
    have = set(ncu_metrics(("counters_extended", "limits"), "sm_90"))
    lacking = {name for name in metrics_of("sm_90") if not set(ncu_metrics((name,), "sm_90")) <= have}
    assert lacking == {
        "unit_l1",  # by its first formula; the second needs nothing more
        "excess_sectors",
        "spill_instructions",
        "wait_selected",
    }


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("counters_bsic", "counters_basic"),
        ("dram_byts", "dram_bytes"),
        ("SQ_WAVES", "AMD"),
        ("Dram__bytes.sum", "dram__bytes"),
        ("two words", "Sets:"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        ncu_metrics((name,), "sm_90")


@pytest.mark.parametrize(
    "name", ["lts__t_bytes.sum.per_second", "launch__grid_size", "group:memory__dram_table"]
)
def test_a_metric_of_ncu_goes_through(name: str) -> None:
    assert ncu_metrics((name, name), "sm_90") == ("gpu__time_duration.sum", name)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=3))
def test_any_name_is_taken_or_refused(names: list[str]) -> None:
    try:
        found = ncu_metrics(tuple(names), "sm_90")
    except RocmPerfError:
        return
    assert all("," not in metric and " " not in metric for metric in found)


def fake_run(tmp_path: Path, wish: Wish, app: tuple[str, ...], **variables: str) -> tuple[int, str, Path]:
    environment = fake_path(tmp_path, tools=["ncu"], **variables)
    tool = Tool(name="ncu", path=str(tmp_path / "fake-rocm" / "bin" / "ncu"))
    machine = Machine(host="h", gpus=(GPU,), tools={"ncu": tool}, user="root")
    command = NcuProfiler().command(wish, app, tmp_path, machine)
    done = run_tool(environment, *command.argv)
    return done.returncode, done.stdout + done.stderr, tmp_path / command.expected[0]


def test_a_run_is_read_back(tmp_path: Path) -> None:
    wish = Wish(counters=("counters_basic",), kernel_include="saxpy", iteration_range=("2-3",))
    code, said, file = fake_run(tmp_path, wish, ("sh", "-c", "echo $0; exit 7", "--metrics"))
    assert (code, said) == (7, "--metrics\n")
    trace = rocm_perf.load(file)
    kernels = trace.table("dispatches")["kernel"].to_list()
    assert kernels == ["saxpy(float*, float const*, float, int)"] * 2
    read = trace.table("counters").filter(pl.col("counter") == "dram__bytes_read.sum")["value"]
    assert read.to_list() == [12582912 * 2 / 3] * 2
    assert trace.table("agents")["gfx"].to_list() == ["sm_90"]


def test_the_roofline_takes_its_counters(tmp_path: Path) -> None:
    _, _, file = fake_run(tmp_path, Wish(counters=("counters_extended",)), ("true",))
    kernels = rocm_perf.analyze(file).roofline.kernels
    saxpy = next(kernel for kernel in kernels if kernel.kernel.startswith("saxpy"))
    work = {part.ceiling: part.amount.value for part in saxpy.work if part.amount.value}
    assert work == {"f32 vector": 2097152, "HBM": 12582912}


def test_without_permission_nothing_is_counted(tmp_path: Path) -> None:
    _, _, file = fake_run(tmp_path, BASIC, ("true",), FAKE_FAULT="permission")
    assert "ERR_NVGPUCTRPERM" in file.read_text()
    with pytest.raises(RocmPerfError):
        rocm_perf.load(file)
