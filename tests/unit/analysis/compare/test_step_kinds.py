"""Kinds of step on both sides, and the part of another mix in the difference of the wall."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rocm_perf.analysis.compare.gates.expressions import parse
from rocm_perf.analysis.compare.gates.recordings import judge, require_known
from rocm_perf.analysis.compare.populations import compare
from rocm_perf.model.results.check import Outcome
from rocm_perf.model.results.comparison import Comparison, StepChanges
from rocm_perf.model.trace import Trace
from rocm_perf.render.sections.comparison import comparison_sections
from tests.unit.analysis.compare.sides import side
from tests.unit.analysis.serving.loops import MS, US, Planted, in_time
from tests.unit.analysis.traces import kernel, trace

PREFILL = Planted("step[EXTEND bs=2 toks=512]", 20 * MS, ("gemm_kernel", "gemm_kernel"))


def decode(gpu_ns: int, batch: int = 8) -> Planted:
    return Planted(f"step[DECODE bs={batch}]", gpu_ns)


def loop(prefills: int, decodes: Sequence[Planted]) -> Trace:
    """Twenty steps, prefill first, each with 0.4 ms of the host beside its GPU work."""
    return in_time([PREFILL] * prefills + list(decodes), launch_ns=100 * US, after_ns=300 * US)


def changed() -> Comparison:
    """From 4 prefill and 16 decode steps to 8 and 12, and decode takes 5.4 ms instead of 4.4."""
    return compare(side(loop(4, [decode(4 * MS)] * 16)), side(loop(8, [decode(5 * MS)] * 12)), whole=True)


def kinds(comparison: Comparison) -> StepChanges:
    assert comparison.kinds
    return comparison.kinds


def test_each_kind_is_compared_by_itself() -> None:
    prefill, slower = kinds(changed()).rows
    assert (prefill.kind, prefill.steps.base, prefill.steps.new, prefill.time.ratio) == ("prefill", 4, 8, 1)
    assert (slower.kind, slower.time.base, slower.time.new) == ("decode", 4.4 * MS, 5.4 * MS)
    assert (slower.token.base, slower.token.new) == (4.4 * MS / 8, 5.4 * MS / 8)


def test_the_difference_of_the_wall_is_the_mix_and_the_steps() -> None:
    wall = kinds(changed()).wall
    assert wall
    assert wall.mix_ns == pytest.approx(4 * 20.4 * MS - 4 * 4.9 * MS)
    assert wall.steps_ns == pytest.approx(14 * MS)
    assert wall.between_ns == pytest.approx(0, abs=1)
    assert wall.mix_ns + wall.steps_ns + wall.between_ns == wall.difference_ns


def test_batch_sizes_of_both_sides_are_rows_of_their_own() -> None:
    base, new = (loop(1, [decode(4 * MS)] * 4 + [decode(MS, other)] * 4) for other in (2, 4))
    assert [row.name for row in kinds(compare(side(base), side(new))).rows] == [
        "prefill",
        "decode",
        "decode batch 8",
    ]


def test_without_annotations_there_are_no_kinds() -> None:
    plain = trace(dispatches=[kernel("gemm", 0, MS)])
    assert compare(side(plain), side(plain)).kinds is None
    assert compare(side(plain), side(loop(1, [decode(MS)]))).kinds is None


def test_the_kinds_stand_first() -> None:
    first, *_ = comparison_sections(changed(), 10, width=120)
    assert first.title == "Kinds of step"
    assert "another number of steps" in first.lines[0]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("step:decode.median>20ms", "undecided"),
        ("step:decode.token>5%", "undecided"),
        ("step:decode.steps>+0", "passed"),
        ("step:prefill.steps>+3", "failed"),
        ("step:mixed.median>5%", "undecided"),
    ],
)
def test_limits_on_a_kind(limit: str, expected: Outcome) -> None:
    expression = parse(limit)
    require_known([expression])
    (check,) = judge(changed(), [expression])
    assert check.outcome == expected


def test_limits_on_a_kind_of_several_runs() -> None:
    runs = [[loop(4, [decode(gpu + noise * US)] * 16) for noise in range(5)] for gpu in (4 * MS, 5 * MS)]
    comparison = compare(side(*runs[0]), side(*runs[1]))
    checks = judge(comparison, [parse("step:decode.token>5%"), parse("step:prefill.median>5%")])
    assert [check.outcome for check in checks] == ["failed", "passed"]
