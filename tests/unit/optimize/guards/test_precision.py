"""The gate `precision`, by the source: nothing narrower and nothing approximate comes in unasked."""

from __future__ import annotations

import pytest

from rocm_perf.optimize.guards.precision import precision_passage

SOURCE = """
__global__ void k(const float* x, float* y, double* z, int n) {
  double sum = 0.5;
  for (int i = 0; i < n; ++i) sum += expf(x[i]) / x[i];
  y[0] = 1.0f / sqrtf(x[0]);
  z[0] = sum;
}
"""


def passage(old: str, new: str, *, allowed: bool = False) -> tuple[bool, str]:
    assert old in SOURCE
    changed = SOURCE.replace(old, new, 1).encode()
    result = precision_passage(SOURCE.encode(), changed, "k", allowed=allowed)
    assert result.gate == "precision"
    return result.passed, result.words


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("expf(x[i]) / x[i]", "expf(x[i]) * 1.0f / x[i]"),
        ("  double sum", "  const float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);\n  double sum"),
        ("int i = 0", "unsigned i = 0"),
    ],
)
def test_as_exact_as_before_passes(old: str, new: str) -> None:
    assert passage(old, new)[0]


CHEAPER = [
    ("expf(", "__expf(", "__expf is less exact"),
    ("expf(x[i]) / x[i]", "__fdividef(expf(x[i]), x[i])", "__fdividef is less exact"),
    ("1.0f / sqrtf(x[0])", "rsqrtf(x[0])", "rsqrtf is less exact"),
    ("1.0f / sqrtf(x[0])", "__builtin_amdgcn_rcpf(sqrtf(x[0]))", "__builtin_amdgcn_rcpf is less exact"),
    ("double sum", "float sum", "double is used in fewer places"),
    ("expf(x[i])", "expf((half)x[i])", "half is narrower"),
    ("expf(x[i])", "expf(static_cast<__nv_bfloat16>(x[i]))", "__nv_bfloat16 is narrower"),
    ("expf(x[i])", "expf(__half2float(__float2half(x[i])))", "__float2half is less exact"),
    ("int i = 0", "short i = 0", "short is narrower"),
    ("= 0.5;", "= 0.5f;", "literals of double became float"),
]


@pytest.mark.parametrize(("old", "new", "reason"), CHEAPER)
def test_less_exact_is_refused_unless_allowed(old: str, new: str, reason: str) -> None:
    passed, words = passage(old, new)
    assert not passed
    assert reason in words
    assert passage(old, new, allowed=True)[0]


def test_what_was_there_before_may_stay() -> None:
    old = SOURCE.replace("expf(", "__expf(").encode()
    assert precision_passage(old, old.replace(b"++i", b"i += 1"), "k").passed


@pytest.mark.parametrize(
    "flag",
    ["-ffast-math", "-use_fast_math", "--use_fast_math", "-Ofast", "--ftz=true", "-munsafe-fp-atomics"],
)
def test_options_that_allow_less_are_refused(flag: str) -> None:
    text = SOURCE.encode()
    result = precision_passage(text, text, "k", flags=("-O3", flag))
    assert not result.passed
    assert flag in result.words
    assert precision_passage(text, text, "k", flags=(flag,), allowed=True).passed
    assert precision_passage(text, text, "k", flags=("-O3", "--maxrregcount=64")).passed
