"""Which kernels are taken for the same."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rocm_perf.analysis.basis.names import normalised
from rocm_perf.model.results.comparison import Comparison
from tests.unit.analysis.compare.sides import compared
from tests.unit.analysis.traces import Row, kernel, trace

TILE = "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT{}x32x128_MI16x16x1_SN_LDSB1_GRVWA8"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int, float)"


def run(*names: str, grids: Sequence[int] = (), times: int = 4) -> list[Row]:
    """The kernels one after another, a few times."""
    sizes = grids or [0] * len(names)
    grid = [{"grid_x": size, "workgroup_x": 64} if size else {} for size in sizes]
    return [
        kernel(name, 1000 * turn + 50 * place, 1000 * turn + 50 * place + 10 + place, **grid[place])
        for turn in range(times)
        for place, name in enumerate(names)
    ]


def matched(base: Sequence[Row], new: Sequence[Row]) -> set[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return {(c.match, c.base_names, c.new_names) for c in _compared(base, new).kernels}


def _compared(base: Sequence[Row], new: Sequence[Row]) -> Comparison:
    return compared(trace(dispatches=base), trace(dispatches=new))


@pytest.mark.parametrize(
    ("recorded", "name"),
    [
        ("k.kd", "k"),
        ("_Z3fooi.kd", "foo(int)"),
        ("_Z3fooi.llvm.1234", "foo(int)"),
        ("k.clone.0", "k"),
        ("f(int) [clone .isra.0]", "f(int)"),
        ("void _GLOBAL__N__5a0b_7_file_cu_1::f<int>(int)", "void (anonymous namespace)::f<int>(int)"),
        ("k.of.the.user", "k.of.the.user"),
    ],
)
def test_what_a_build_adds_is_not_a_part_of_the_name(recorded: str, name: str) -> None:
    assert normalised(recorded) == name


def test_names_then_short_names() -> None:
    base = [
        kernel("void f<int>(int*)", 0, 10),
        kernel("void g<4>(int)", 20, 25),
        kernel("h.kd", 30, 33),
        kernel("old", 40, 47),
    ]
    new = [
        kernel("void f<int>(int*)", 0, 12),
        kernel("void f<int>(int*)", 15, 17),
        kernel("void g<8>(int)", 20, 24),
        kernel("h", 30, 33),
        kernel("fresh", 40, 41),
    ]
    comparison = _compared(base, new)
    rows = [(c.kernel, c.match, c.calls.base, c.calls.new, c.total.difference) for c in comparison.kernels]
    assert rows == [
        ("old", "vanished", 1, 0, -7),
        ("f", "name", 1, 2, 4),
        ("fresh", "appeared", 0, 1, 1),
        ("g", "short name", 1, 1, -1),
        ("h", "name", 1, 1, 0),
    ]
    assert (comparison.kernels[1].median.base, comparison.kernels[1].median.new) == (10, 7)
    assert comparison.kernels[0].median.new is None
    assert comparison.notes == ("1 kernel matched although the whole names differ: 1 by short name",)


def test_compiled_graphs_number_their_kernels() -> None:
    pairs = matched(run("triton_poi_fused_add_3", "x"), run("triton_poi_fused_add_17", "x"))
    assert ("short name", ("triton_poi_fused_add_3",), ("triton_poi_fused_add_17",)) in pairs


def test_another_tile_is_recognised_by_its_place() -> None:
    old, new = TILE.format(64), TILE.format(256)
    base = run("norm_a", old, "softmax_b", TILE.format(96), grids=(9, 100, 9, 70))
    after = run("norm_a", new, "softmax_b", TILE.format(128), grids=(9, 25, 9, 35))
    assert matched(base, after) == {
        ("name", ("norm_a",), ("norm_a",)),
        ("name", ("softmax_b",), ("softmax_b",)),
        ("family and position", (old,), (new,)),
        ("family and position", (TILE.format(96),), (TILE.format(128),)),
    }


def test_another_template_is_recognised_by_its_place_and_grid() -> None:
    base = run("norm_a", "flash_fwd_kernel_v2", grids=(9, 100))
    after = run("norm_a", "fmha_fwd_d128", grids=(9, 100))
    assert ("family, grid and position", ("flash_fwd_kernel_v2",), ("fmha_fwd_d128",)) in matched(base, after)


def test_a_kernel_that_moved_is_recognised_by_its_grid() -> None:
    base = run("x", TILE.format(64), "y", "z", grids=(9, 100, 9, 9))
    after = run("x", "y", TILE.format(256), "z", grids=(9, 9, 100, 9))
    assert ("family and grid", (TILE.format(64),), (TILE.format(256),)) in matched(base, after)


def test_what_could_be_either_is_neither() -> None:
    one, two, three, four = (TILE.format(size) for size in (16, 32, 64, 128))
    base = run("x", one, "y", two, "y", grids=(9, 100, 9, 100, 9))
    after = run("y", three, "x", four, "x", grids=(9, 100, 9, 100, 9))
    fates = {match for match, *_ in matched(base, after)}
    assert fates == {"name", "vanished", "appeared"}


def test_another_family_is_another_kernel() -> None:
    base = run("x", TILE.format(64), "y", grids=(9, 100, 9))
    after = run("x", "softmax_warp_forward", "y", grids=(9, 100, 9))
    assert {match for match, *_ in matched(base, after)} == {"name", "vanished", "appeared"}


def test_a_fused_kernel_is_nobodys_successor() -> None:
    mul = ADD.replace("add", "mul")
    base = run("x", ADD, mul, "y", grids=(9, 100, 100, 9))
    after = run("x", "triton_poi_fused_add_mul", "y", grids=(9, 100, 9))
    assert ("appeared", (), ("triton_poi_fused_add_mul",)) in matched(base, after)


def test_the_median_of_a_match_is_that_of_all_its_calls() -> None:
    base = [
        kernel("void g<4>(int)", 0, 10),
        kernel("void g<2>(int)", 20, 40),
        kernel("void g<2>(int)", 50, 80),
    ]
    (change,) = _compared(base, [kernel("void g<8>(int)", 0, 7)]).kernels
    assert (change.median.base, change.total.base, change.calls.base) == (20, 60, 3)
