"""What is less exact needs to be allowed; options fit the vendor and the file."""

from __future__ import annotations

from rocm_perf.optimize.transforms import compiler_options, fast_math
from tests.unit.optimize.transforms.trying import Tried, setting

EXP = b"__global__ void k(float* x) { x[0] = expf(x[0]) + powf(x[1], 2.0f); }\n"
OTHER = b"__global__ void other(float* x) { x[0] = 1; }\n"


def test_intrinsics_only_when_allowed() -> None:
    tried = Tried(fast_math.TRANSFORM, EXP, setting())
    assert not tried.candidates
    assert list(tried.refused.values()) == ["it is less exact, and fast math is not allowed"]
    tried = Tried(fast_math.TRANSFORM, EXP, setting(allow_fast_math=True))
    assert "__expf(x[0]) + __powf(x[1], 2.0f)" in tried.only.applied_to(EXP).decode()


def test_fast_math_flags_only_when_allowed() -> None:
    for arch, flag in (("gfx942", "-ffast-math"), ("sm_90", "-use_fast_math")):
        refused = Tried(compiler_options.TRANSFORM, EXP, setting(arch=arch, cause="compute"))
        assert flag in refused.refused
        assert flag not in refused.candidates
        allowed = setting(arch=arch, cause="compute", allow_fast_math=True)
        assert Tried(compiler_options.TRANSFORM, EXP, allowed).candidates[flag].flags == (flag,)


def test_options_follow_the_cause_and_are_not_given_twice() -> None:
    amd = Tried(compiler_options.TRANSFORM, EXP, setting(cause="latency"))
    assert amd.candidates["-mllvm -amdgpu-sched-strategy=max-ilp"].flags[0] == "-mllvm"
    assert "-O3" in amd.candidates
    known = setting(cause="occupancy")
    with_flags = type(known)(**{**vars(known), "flags": ("-O3",)})
    assert not Tried(compiler_options.TRANSFORM, EXP, with_flags).candidates


def test_a_limit_of_registers_needs_a_file_with_one_kernel() -> None:
    known = setting(arch="sm_90", cause="occupancy")
    assert "--maxrregcount=64" in Tried(compiler_options.TRANSFORM, EXP, known).candidates
    assert (
        "other kernels" in Tried(compiler_options.TRANSFORM, EXP + OTHER, known).refused["--maxrregcount=64"]
    )
    bounded = EXP.replace(b"void k", b"void __launch_bounds__(64) k")
    assert "own bounds" in Tried(compiler_options.TRANSFORM, bounded, known).refused["--maxrregcount=64"]
