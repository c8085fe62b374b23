"""Loops: what they count, how often, and what is in them."""

from __future__ import annotations

import pytest

from rocm_perf.optimize.source.contents import Contents
from rocm_perf.optimize.source.loops import Loop, loops_of
from rocm_perf.optimize.source.parse import parse


def loops(body: str, around: str = "") -> tuple[Loop, ...]:
    source = parse(f"{around}\n__global__ void k(float* x, int n) {{\n{body}\n}}\n".encode())
    return loops_of(source, source.kernels[0])


@pytest.mark.parametrize(
    ("head", "trips"),
    [
        ("int i = 0; i < 10; ++i", 10),
        ("int i = 0; i <= 10; i += 3", 4),
        ("int i = 10; i > 0; i--", 10),
        ("int s = 16; s > 0; s >>= 1", 5),
        ("int s = 1; s < THREADS; s *= 2", 8),
        ("int s = THREADS / 2; s > 0; s /= 2", 8),
        ("unsigned i = 0x4u; i != 1'000; i += 4", 249),
        ("int i = 0; i < n; ++i", None),
        ("int i = threadIdx.x; i < 10; ++i", None),
        ("int i = 0; i < 10; i *= 2", None),
        ("int i = 0; i < HIDDEN; ++i", None),
    ],
)
def test_trips_are_known_where_all_numbers_are(head: str, trips: int | None) -> None:
    around = "constexpr int THREADS = 256;\nint main() { const int HIDDEN = 4; }"
    (loop,) = loops(f"for ({head}) x[0] += 1;", around)
    assert loop.trips == trips


def test_a_shadowed_constant_is_not_mistaken() -> None:
    (loop,) = loops(
        "int N = 4 * n; for (int i = 0; i < N; ++i) x[i] = 1;", "#define M 3\nconstexpr int N = 8;"
    )
    assert loop.trips is None


def test_nesting_kinds_and_pragmas() -> None:
    outer, inner, last, ranged = loops(
        "#pragma unroll 2  \n for (int i = 0; i < n; ++i) {\n while (x[i] > 0) x[i] -= 1;\n }\n"
        "do { n--; } while (n);\n for (auto v : list) x[0] += v;"
    )
    assert [(each.kind, each.depth) for each in (outer, inner, last, ranged)] == [
        ("for", 0),
        ("while", 1),
        ("do", 0),
        ("range", 0),
    ]
    assert outer.pragma == "unroll 2"
    assert inner.induction is None
    assert [each.line for each in outer.contents.loops] == [inner.line]


@pytest.mark.parametrize(
    ("statement", "field"),
    [
        ("__syncthreads();", "barriers"),
        ("group.sync();", "barriers"),
        ("cooperative_groups::sync(group);", "barriers"),
        ("__threadfence_block();", "fences"),
        ("atomicMax(&x[0], 1);", "atomics"),
        ("__hip_atomic_fetch_add(&x[0], 1, 0, 1);", "atomics"),
        ("x[0] = __shfl_xor_sync(~0u, x[0], 1);", "lane_operations"),
        ("if (__ballot(n)) x[0] = 1;", "lane_operations"),
        ("staged[0] = 1;", "dynamic_shared"),
        ("if (n) break;", "exits"),
        ("if (n) return;", "exits"),
        ("if (n) continue;", "continues"),
        ('asm("nop");', "assembly"),
        ("unknown(n);", "unknown_calls"),
        ("waits(n);", "barriers"),
    ],
)
def test_contents(statement: str, field: str) -> None:
    around = (
        "extern __shared__ float staged[];\n__device__ void waits(int n) { if (n) return; __syncthreads(); }"
    )
    (loop,) = loops(f"for (int i = 0; i < n; ++i) {{ {statement} }}", around)
    filled = {name for name, mentions in vars(loop.contents).items() if mentions}
    assert filled == {field}


@pytest.mark.parametrize(
    "statement",
    ["switch (n) { case 1: break; }", "auto f = [&] { return 1; };", "x[0] = fmaxf(sqrtf(x[1]), (float)n);"],
)
def test_what_ends_within_a_loop_does_not_leave_it(statement: str) -> None:
    (loop,) = loops(f"for (int i = 0; i < n; ++i) {{ {statement} }}")
    assert loop.contents == Contents()


@pytest.mark.parametrize(
    "text",
    [
        "for (int i = 0; i < n; ++i) { i += 1; }",
        "for (int i = 0, j = 0; i < n; ++i) {}",
        "for (int i = 0; n > 4; ++i) {}",
        "for (; n > 4; --n) {}",
        "for (int i = 0; i < n;) { ++i; }",
        "for (int i = 0; i < n; ++i) { read(&i); }",
    ],
)
def test_what_does_not_count_plainly_has_no_induction(text: str) -> None:
    (loop,) = loops(text)
    assert loop.induction is None
