"""Models of two recordings: what became of their work, and a waterfall that sums to the wall."""

from __future__ import annotations

from typing import Any

from rocm_perf.analysis.compare.populations import compare
from rocm_perf.model.results.alignment import Alignment
from rocm_perf.model.results.comparison import Comparison
from rocm_perf.model.trace import Trace
from tests.unit.analysis.compare.programs import US, Op, program
from tests.unit.analysis.compare.sides import compared, side
from tests.unit.analysis.traces import call, kernel, trace

MM = Op("aten::mm", 100, kernel="Cijk_Alik_Bljk_BBS_BH_MT64x32x128", module="Net_0/Linear_0", shapes="[[8]]")
SILU, MUL = (Op(name, 20, module="Net_0/Act_0", shapes="[[8]]") for name in ("aten::silu", "aten::mul"))
FUSED = Op("triton_poi_fused_mul_silu_0", 25, kernel="triton_poi_fused_mul_silu_0", shapes="[[8]]")


def aligned(comparison: Comparison) -> Alignment:
    """What was aligned, whose parts have to sum to the wall and whose rows to the GPU work."""
    alignment = comparison.alignment
    assert alignment is not None
    wall = alignment.waterfall
    for ns in ("base_ns", "new_ns", "difference_ns"):
        assert (
            sum(getattr(part, ns) for part in wall.parts)
            == getattr(wall, ns)
            == getattr(comparison.waterfall, ns)
        )
        for rows in (alignment.work, alignment.modules, alignment.operators, alignment.families):
            assert sum(getattr(row, ns) for row in rows) == getattr(alignment, ns)
    return alignment


def parts(alignment: Alignment) -> dict[str, tuple[int, int]]:
    """The parts in which the GPU works, in microseconds."""
    return {
        part.id.removeprefix("work_"): (part.base_ns // US, part.new_ns // US)
        for part in alignment.waterfall.parts
        if part.id.startswith("work_")
    }


def test_a_compiled_model_against_an_eager_one() -> None:
    eager, compiled = program(MM, SILU, MUL, steps=12), program(MM._replace(module=""), FUSED, steps=16)
    alignment = aligned(compared(eager, compiled, whole=False))
    assert parts(alignment) == {"same": (100, 100), "fused": (40, 25)}
    fused = alignment.work[0]
    assert (fused.fate, fused.base_operators) == ("fused", ("aten::silu", "aten::mul"))
    assert (fused.new_kernels, fused.modules) == (("triton_poi_fused_mul_silu",), ("Net/Act",))
    assert [(share.name, share.difference_ns) for share in alignment.modules] == [
        ("Net/Act", -15 * US),
        ("Net/Linear", 0),
    ]
    assert alignment.operators[0].name == "aten::silu + aten::mul"
    assert (alignment.base_steps.alike, alignment.base_steps.of) == (12, 12)


def test_layers_of_one_kind_are_one_row() -> None:
    layers = [MM._replace(module=f"Net_0/Linear_{number}") for number in range(6)]
    faster = [layer._replace(gpu_us=60, kernel="nvjet_sm90_hsh_64x32") for layer in layers]
    (row,) = aligned(compared(program(*layers), program(*faster))).work
    assert (row.fate, row.places, row.difference_ns) == ("other kernels", 6, -240 * US)


def test_a_step_that_does_more_is_not_what_is_aligned() -> None:
    unlike = program(MM, SILU, steps=12, once=Op("aten::sum", 120))
    alignment = aligned(compared(unlike, program(MM, SILU, steps=12), whole=False))
    assert (alignment.base_steps.alike, alignment.base_steps.of) == (11, 12)
    assert parts(alignment) == {"same": (120, 120), "other_steps": (10, 0)}


def test_work_at_the_same_time_is_taken_off_once() -> None:
    def overlapping(second_start_us: int) -> Trace:
        host: dict[str, Any] = {"pid": 1, "tid": 1}
        starts = (10, second_start_us)
        return trace(
            ops=[
                {
                    "category": "operator",
                    "name": f"aten::op{at}",
                    "start_ns": at * US,
                    "end_ns": (at + 1) * US,
                    **host,
                }
                for at in (0, 1)
            ],
            api_calls=[call("launch", at * US, (at + 1) * US, at + 1, **host) for at in (0, 1)],
            dispatches=[
                kernel(f"k{at}", start * US, (start + 20) * US, pid=1, correlation_id=at + 1, stream_id=at)
                for at, start in enumerate(starts)
            ],
        )

    assert parts(aligned(compared(overlapping(30), overlapping(15)))) == {
        "same": (40, 40),
        "at_once": (0, -15),
    }


def test_the_times_are_those_of_the_middle_runs() -> None:
    base = side(*(program(MM._replace(gpu_us=us), SILU) for us in (90, 100, 500, 102)))
    alignment = aligned(compare(base, side(program(MM, SILU)), whole=True))
    assert parts(alignment) == {"same": (121, 120)}


def test_another_batch_size_is_said() -> None:
    alignment = aligned(
        compared(program(MM, SILU), program(*(one._replace(shapes="[[16]]") for one in (MM, SILU))))
    )
    assert {row.fate for row in alignment.work} == {"other shapes"}
    assert alignment.notes == (
        "2 of the 2 aligned operators run on other shapes (another batch size or input): they are matched by name and "
        "order, and do not do the same work",
    )


def test_another_model_is_doubted() -> None:
    others = [Op(f"other::{name}", 100) for name in "abc"]
    (doubt,) = aligned(compared(program(MM), program(MM, *others))).notes
    assert doubt.startswith("most of the GPU work is on one side alone")


def test_without_operators_nothing_is_aligned() -> None:
    bare = trace(dispatches=[kernel("k", 0, US)])
    assert compared(bare, bare).alignment is None
    assert aligned(compared(program(MM), bare)).work
