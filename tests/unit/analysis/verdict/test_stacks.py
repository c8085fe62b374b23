"""What recorded stacks do to what is said of the host."""

from __future__ import annotations

from msgspec.structs import replace

from rocm_perf.analysis.overview import overview
from rocm_perf.model.finding import Finding
from rocm_perf.units import NS_PER_US
from tests.unit.analysis.traces import call, kernel, trace

US = NS_PER_US


def slow_host(frames: int, tool: str = "torch.profiler") -> tuple[Finding, ...]:
    """Sixty kernels of 5 us, one every 60 us, with so many Python frames around each launch."""
    starts = [60 * US * n for n in range(60)]
    kernels = [
        kernel(f"k{n % 7}", at + 20 * US, at + 25 * US + n, correlation_id=n) for n, at in enumerate(starts)
    ]
    calls = [call("hipLaunchKernel", at, at + 5 * US, n) for n, at in enumerate(starts)]
    ops = [
        {"name": name, "category": category, "start_ns": at - US, "end_ns": at + 9 * US, "op_id": place}
        for place, at in enumerate(starts)
        for category, name in [("operator", "aten::mm"), *[("python", "train.py(3): step")] * frames]
    ]
    recording = trace(dispatches=kernels, api_calls=calls, ops=ops)
    return overview(recording.described(replace(recording.run, tool=tool)), "x").findings


def doubted(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.id for finding in findings if "with_stack=False" in finding.remedy]


def test_a_slow_host_beside_stacks_is_to_be_recorded_again_without_them() -> None:
    findings = slow_host(frames=8)
    assert doubted(findings) == ["host-bound"]
    assert "stacks were recorded (80.0 % of the host's events are Python frames)" in findings[0].evidence[-1]


def test_jax_has_another_way_to_leave_them_out() -> None:
    remedies = [finding.remedy for finding in slow_host(frames=8, tool="jax.profiler")]
    assert sum("python_tracer_level = 0" in remedy for remedy in remedies) == 1
    assert not any("with_stack" in remedy for remedy in remedies)


def test_a_slow_host_without_stacks_is_not_doubted() -> None:
    assert not doubted(slow_host(frames=0))
