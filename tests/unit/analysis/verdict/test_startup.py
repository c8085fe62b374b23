"""What is said of what a program does once."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.verdict.findings import Beside, in_order
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_MS, NS_PER_US
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import call, kernel, trace

MS, US = NS_PER_MS, NS_PER_US


def paused(name: str, *, calls: bool = True) -> Trace:
    """Ten kernels back to back, 80 ms of nothing, ten more, the first of which has this name."""
    starts = [20 * US * place + (80 * MS if place >= 10 else 0) for place in range(20)]
    names = [f"k{n}" if n != 10 else name for n in range(20)]
    rows = [
        kernel(each, at, at + 19 * US - n, correlation_id=n + 1)
        for n, (each, at) in enumerate(zip(names, starts, strict=True))
    ]
    launches = [call("hipLaunchKernel", at - 9 * US, at - 5 * US, n + 1) for n, at in enumerate(starts)]
    return trace(dispatches=rows, api_calls=launches) if calls else trace(dispatches=rows)


def evidence(recording: Trace) -> tuple[str, ...]:
    (finding,) = [each for each in examine(recording, "x").findings if each.id == "startup"]
    return finding.evidence


def test_the_longest_comes_first_and_says_what_no_call_explains() -> None:
    longest = evidence(paused("new"))[0]
    assert "of pause before the first new, for " in longest
    assert longest.endswith("of which the host is in no recorded call")


def test_a_kernel_that_ran_before_is_not_called_the_first() -> None:
    longest = evidence(paused("k3", calls=False))[0]
    assert longest.endswith("of pause before k3")


@pytest.mark.parametrize(
    ("share", "first"),
    [(0.01, "startup"), (0.5, "kernel"), (None, "kernel")],
    ids=["small", "large", "unknown"],
)
def test_what_happens_once_comes_before_kernels_that_are_known_to_gain_nothing(
    share: float | None, first: str
) -> None:
    whole = document(paused("new"))
    (device,) = whole.devices
    mostly_idle = replace(device, busy_ns=whole.judged_ns // 3)  # else it is said that little is left to gain
    said = replace(whole, devices=(mostly_idle,))
    stake = None if share is None else round(share * said.judged_ns)
    found = Finding(id="kernel", kind="kernel", severity="info", title="k", time_at_stake_ns=stake)
    once = Finding(id="startup", kind="startup", severity="info", title="once")
    assert in_order([found], said, Beside(startup=[once]))[0].id == first


def interrupted(first_after: str, *, loads: bool = False) -> Trace:
    """Forty different kernels, a pause of 20 ms, the same again; in the pause code may be loaded."""
    names = [f"k{n}" for n in range(40)] + [f"{first_after}{n}" for n in range(40)]
    starts = [(40 + n * 100) * US + (20 * MS if n >= 40 else 0) for n in range(80)]
    rows = [
        kernel(name, at, at + (20 + n % 7) * US, correlation_id=n + 1)
        for n, (name, at) in enumerate(zip(names, starts, strict=True))
    ]
    calls = [call("hipLaunchKernel", at - 9 * US, at - 5 * US, n + 1) for n, at in enumerate(starts)]
    if loads:
        calls.append(call("hipModuleLoadData", starts[39] + 100 * US, starts[40] - 50 * US))
    return trace(dispatches=rows, api_calls=sorted(calls, key=lambda row: str(row["start_ns"]).zfill(20)))


@pytest.mark.parametrize(
    ("recording", "is_startup"),
    [(interrupted("k"), False), (interrupted("new"), True), (interrupted("k", loads=True), True)],
    ids=["goes on", "new kernels", "code is loaded"],
)
def test_a_hiccup_of_what_goes_on_is_no_start_up(recording: Trace, is_startup: bool) -> None:
    found = [one.id for one in examine(recording, "x").findings]
    assert ("startup" in found) == is_startup
    assert is_startup or found[0] == "host-bound"


def test_what_first_uses_were_for() -> None:
    longs = [
        ("hipMemcpy", 0, 300),  # the first long call of the process
        ("hipModuleLoadData", 310, 330),
        ("hiprtcCompileProgram", 340, 380),
        ("hipMalloc", 390, 400),
    ]
    calls = [call(name, start * MS, end * MS) for name, start, end in longs]
    calls.insert(0, call("hipGetDeviceCount", -800 * US, -100 * US))
    starts = [410 * MS + n * 50 * US for n in range(30)]
    calls += [call("hipLaunchKernel", at - 9 * US, at - 5 * US, n + 1) for n, at in enumerate(starts)]
    rows = [kernel(f"k{n}", at, at + (5 + n % 7) * US, correlation_id=n + 1) for n, at in enumerate(starts)]
    said = next(
        line for line in evidence(trace(dispatches=rows, api_calls=calls)) if "took long once" in line
    )
    assert said == (
        "calls that took long once: setting up devices 301 ms (hipMemcpy 300 ms, "
        "hipGetDeviceCount 700 us), compiling 40.0 ms (hiprtcCompileProgram), "
        "loading code 20.0 ms (hipModuleLoadData)"
    )
