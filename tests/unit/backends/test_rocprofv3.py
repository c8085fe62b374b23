"""The command line of rocprofv3, release by release."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rocm_perf.backends.amd.rocprofv3 import Rocprofv3Profiler
from rocm_perf.backends.base import DOMAINS, Command, PcSampling, Wish
from rocm_perf.backends.machine import Machine, Tool
from tests.unit.backends.machines import amd

PROFILER = Rocprofv3Profiler()
APP = ("./app", "--", "--weird args")
TRACE = Wish(domains=("kernel", "hip"))


def command(wish: Wish, rocm: str = "7.2", gfx: str = "gfx942") -> Command:
    return PROFILER.command(wish, APP, Path("/out/pass_1"), amd(gfx, rocm))


def after(argv: tuple[str, ...], flag: str, count: int = 1) -> tuple[str, ...]:
    place = argv.index(flag) + 1
    return argv[place : place + count]


def test_the_application_is_what_follows_the_first_dashes() -> None:
    argv = command(TRACE).argv
    assert argv[argv.index("--") + 1 :] == APP
    assert argv[0] == "/opt/rocm/bin/rocprofv3"
    assert after(argv, "-d") == ("/out/pass_1",)
    assert after(argv, "-o") == ("%hostname%/rank%env{RANK}%-%pid%",)


@pytest.mark.parametrize(
    ("rocm", "asked", "written"),
    [
        ("6.4", (), ("csv",)),
        ("7.0", (), ("rocpd",)),
        ("7.2", ("pftrace",), ("rocpd", "pftrace")),
        ("6.4", ("pftrace",), ("csv", "pftrace")),
        ("7.2", ("json",), ("json",)),
        ("7.2", ("otf2",), ("rocpd", "otf2")),
        ("6.4", ("rocpd",), ("csv",)),
    ],
)
def test_one_format_that_is_read_in_full(rocm: str, asked: tuple[str, ...], written: tuple[str, ...]) -> None:
    made = command(Wish(domains=("kernel",), formats=asked), rocm)
    assert after(made.argv, "-f", len(written)) == written
    assert after(made.argv, written[-1]) == ("-d",)
    assert bool(made.notices) == ("rocpd" in asked)


def test_statistics_need_csv() -> None:
    argv = command(Wish(domains=("kernel",), stats=True)).argv
    assert "--stats" in argv
    assert after(argv, "-f", 2) == ("rocpd", "csv")


def test_whole_traces_in_one_word() -> None:
    runtime = Wish(domains=tuple(domain for domain in DOMAINS if domain != "hsa"))
    assert "--runtime-trace" in command(runtime, "6.4").argv
    assert "--sys-trace" in command(Wish(domains=DOMAINS), "6.4").argv
    parts = command(runtime, "6.2").argv
    assert "--runtime-trace" not in parts
    assert {"--kernel-trace", "--hip-trace", "--memory-copy-trace", "--scratch-memory-trace"} <= set(parts)
    assert "--rccl-trace" not in parts


def test_what_a_release_lacks_is_told() -> None:
    dropped = PROFILER.dropped(Wish(domains=DOMAINS), amd(rocm="6.2"))
    assert [line.split()[0] for line in dropped] == ["allocation", "rccl"]
    assert PROFILER.dropped(Wish(domains=DOMAINS), amd(rocm="6.4")) == ()
    wish = Wish(
        domains=("kernel",), kernel_include="gemm", collection_period=("1:2:3",), selected_regions=True
    )
    made = command(wish, "6.2")
    assert len(made.notices) == 3
    assert "--kernel-include-regex" not in made.argv
    kept = command(wish, "7.0")
    assert kept.notices == ()
    assert after(kept.argv, "--kernel-include-regex") == ("gemm",)
    assert "--selected-regions" in kept.argv


def test_counters_by_option_and_before_that_by_file() -> None:
    wish = Wish(domains=("kernel",), counters=("SQ_WAVES", "GRBM_COUNT"))
    made = command(wish, "6.3")
    assert after(made.argv, "--pmc", 2) == ("SQ_WAVES", "GRBM_COUNT")
    assert after(made.argv, "-f") == ("csv",)
    old = command(wish, "6.2")
    assert old.files == {"/out/pass_1/counters.txt": "pmc: SQ_WAVES GRBM_COUNT\n"}
    assert after(old.argv, "-i") == ("/out/pass_1/counters.txt",)


@pytest.mark.parametrize(
    ("gfx", "rocm", "asked", "got"),
    [
        ("gfx942", "7.2", PcSampling("stochastic", "cycles", 65536), ("stochastic", "cycles", "65536")),
        ("gfx942", "7.2", PcSampling("stochastic", "cycles", 100_000), ("stochastic", "cycles", "65536")),
        ("gfx942", "7.2", PcSampling("stochastic", "time", 1000), ("stochastic", "cycles", "1048576")),
        ("gfx942", "6.4", PcSampling("stochastic", "cycles", 65536), ("host_trap", "time", "1000")),
        ("gfx90a", "7.2", PcSampling("stochastic", "cycles", 65536), ("host_trap", "time", "1000")),
        ("gfx90a", "7.2", PcSampling("host_trap", "time", 50), ("host_trap", "time", "50")),
        ("gfx90a", "7.2", PcSampling("host_trap", "cycles", 64), ("host_trap", "time", "1000")),
    ],
)
def test_pc_sampling_is_put_right(gfx: str, rocm: str, asked: PcSampling, got: tuple[str, ...]) -> None:
    made = command(Wish(domains=("kernel",), pc_sampling=asked, formats=("pftrace",)), rocm, gfx)
    method, unit, interval = got
    assert after(made.argv, "--pc-sampling-method") == (method,)
    assert after(made.argv, "--pc-sampling-unit") == (unit,)
    assert after(made.argv, "--pc-sampling-interval") == (interval,)
    assert after(made.argv, "-f", 2) == ("csv", "-d")
    changed = (asked.method, asked.unit, str(asked.interval)) != got
    assert len(made.notices) == 1 + changed


def test_refusals() -> None:
    sampling = Wish(domains=("kernel",), pc_sampling=PcSampling("host_trap", "time", 1))
    assert "from ROCm 6.3 on" in PROFILER.refusal(sampling, amd(rocm="6.2"))
    assert PROFILER.refusal(sampling, amd(rocm="6.4")) == ""
    assert "no AMD GPU" in PROFILER.refusal(TRACE, Machine(host="x"))
    assert "not on this machine" in PROFILER.refusal(TRACE, amd(tools=()))
    assert "from ROCm 6.2 on" in PROFILER.refusal(TRACE, amd(rocm="5.7"))
    broken = Tool(name="rocprofv3", path="x", problem="it crashes")
    assert PROFILER.refusal(TRACE, replace(amd(), tools={"rocprofv3": broken})) == "it crashes"
    assert PROFILER.refusal(Wish(counters=("SQ_WAVES",)), amd("gfx1151", "6.4"))
    assert PROFILER.refusal(Wish(counters=("SQ_WAVES",)), amd("gfx1151", "7.2")) == ""


def test_a_thread_trace_needs_its_decoder() -> None:
    wish = Wish(domains=("kernel",), att=True)
    assert "rocprof-trace-decoder" in PROFILER.refusal(wish, amd())
    assert "from ROCm 7.0 on" in PROFILER.refusal(wish, amd(rocm="6.4"))
    able = amd(tools=("rocprofv3", "att-decoder"))
    assert PROFILER.refusal(wish, able) == ""
    argv = PROFILER.command(wish, APP, Path("/out"), able).argv
    assert after(argv, "--att-library-path") == ("/opt/rocm/bin",)


def test_an_unknown_release_is_taken_for_the_oldest() -> None:
    machine = amd(rocm="")
    assert PROFILER.refusal(TRACE, machine) == ""
    assert after(PROFILER.command(TRACE, APP, Path("/out"), machine).argv, "-f") == ("csv",)


def test_expected_files() -> None:
    assert command(TRACE).expected == ("**/*_results.db",)
    counted = command(Wish(domains=("kernel",), counters=("SQ_WAVES",))).expected
    assert counted == ("**/*_kernel_trace.csv", "**/*_counter_collection.csv")


def test_tool_arguments_pass_through() -> None:
    argv = command(Wish(domains=("kernel",), tool_args=("--att-target-cu", "1"), summary=True)).argv
    assert after(argv, "--att-target-cu") == ("1",)
    assert argv.index("--att-target-cu") < argv.index("--")
    assert "--summary" in argv
