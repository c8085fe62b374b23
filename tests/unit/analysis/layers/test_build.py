"""The layers of made programs: what they are known by, their times, and what is in none."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import polars as pl
import pytest

from rocm_perf.analysis.layers import build
from rocm_perf.analysis.layers.build import layers, layers_by_repetition
from rocm_perf.analysis.overview import examine
from rocm_perf.ingest.captures.adopt import adopt
from rocm_perf.model.results.layers import EqualModules, LayeredWork, LayerStack
from rocm_perf.model.trace import Trace
from rocm_perf.render.sections.modules import modules_section
from tests.unit.analysis.layers.program import (
    BEFORE,
    BEHIND,
    LAYER,
    LAYER_NS,
    PRODUCT,
    served,
)
from tests.unit.analysis.modules.program import Program
from tests.unit.analysis.traces import call, kernel, trace
from tests.unit.graph_traces import capture, execution

OUTSIDE_NS = sum(BEFORE.values()) + sum(BEHIND.values())
KERNELS = list(LAYER)
SLOW = LAYER | {"flash_fwd_kernel": 90}
DECODER_LAYERS = (EqualModules(name="DecoderLayer", modules=4, alike=4),)
OTHER = {("sparse_kernel" if name == "flash_fwd_kernel" else name): ns for name, ns in LAYER.items()}


def only(work: tuple[LayeredWork, ...]) -> tuple[LayeredWork, LayerStack]:
    (row,) = work
    (stack,) = row.stacks
    return row, stack


def test_a_step_is_its_layers_and_what_is_outside() -> None:
    result = layers(served([[LAYER] * 6]))
    row, stack = only(result.rows)
    assert (result.known_by, row.name, row.steps, row.alike) == ("repetition", "decode step", 1, 1)
    assert (stack.layers, stack.times, stack.kernels, stack.modules) == (6, 1, 10, None)
    assert (stack.median_ns, stack.total_ns, row.outside_ns) == (LAYER_NS, 6 * LAYER_NS, OUTSIDE_NS)
    assert row.total_ns == stack.total_ns + row.outside_ns + row.beside_ns
    assert [kernel.kernel for kernel in row.outside][:2] == [PRODUCT + "3", "argmax"]


def test_its_kernels_are_in_their_order_with_their_times() -> None:
    _, stack = only(layers(served([[LAYER] * 6])).rows)
    order = {kernel.kernel: kernel.each_ns for kernel in stack.order}
    assert list(order) == KERNELS
    assert order == LAYER
    assert round(sum(kernel.share for kernel in stack.order), 9) == 1


def test_the_spread_names_the_longest_layer() -> None:
    _, stack = only(layers(served([[LAYER, LAYER, LAYER, SLOW, LAYER]])).rows)
    assert (stack.least_ns, stack.most_ns, stack.longest) == (LAYER_NS, LAYER_NS + 60, 3)


def test_a_step_that_is_neither_prefill_nor_decode_is_named_in_english() -> None:
    section = modules_section(examine(served([[LAYER] * 8], kinds=["IDLE"]), "x"), 9)
    assert any(line.startswith("A step of another kind: 8 layers take") for line in section.lines)


def test_kernels_without_a_length_make_no_layers() -> None:
    """Their start and end were rounded to the same microsecond."""
    timed = served([[LAYER] * 6])
    tables = {name: timed.table(name) for name in ("api_calls", "ranges")}
    without = timed.table("dispatches").with_columns(end_ns=pl.col("start_ns"))
    recorded = Trace({**tables, "dispatches": without}, timed.run)
    assert layers(recorded).rows == ()
    assert modules_section(examine(recorded, "x"), 10) is not None


def test_of_equal_steps_the_median_counts() -> None:
    row, stack = only(layers(served([[LAYER] * 4, [SLOW] * 4, [LAYER] * 4, [LAYER] * 3])).rows)
    assert (row.steps, row.alike) == (4, 3)  # one runs other kernels
    assert (stack.layers, stack.most_ns) == (4, LAYER_NS)


def test_layers_that_take_turns_are_of_two_kinds() -> None:
    _, stack = only(layers(served([[LAYER, OTHER] * 4])).rows)
    assert [(kind.numbers, kind.own) for kind in stack.kinds] == [
        ((0, 2, 4, 6), ("flash_fwd_kernel",)),
        ((1, 3, 5, 7), ("sparse_kernel",)),
    ]
    assert {kernel.kernel: kernel.layers for kernel in stack.order}["sparse_kernel"] == 4


def test_a_model_that_is_called_several_times_is_one_stack() -> None:
    between = [{f"between{number}": 1 for number in range(12)}]
    _, stack = only(layers(served([[*[LAYER] * 4, *between] * 3])).rows)
    assert (stack.times, stack.layers, stack.total_ns) == (3, 4, 12 * LAYER_NS)


def test_layers_multiply_matrices() -> None:
    solver = ("spmv", "dot", "axpy", "update", "layer_norm_kernel")
    result = layers(served([[dict.fromkeys(solver, 10)] * 9]))
    assert (result.known_by, result.rows) == (None, ())
    assert str(result.unavailable).startswith("no kernels repeat in a step as layers would")


def test_layers_are_more_than_products() -> None:
    expert = ("gather", PRODUCT + "6", "activation", PRODUCT + "7", "scatter")
    assert layers(served([[dict.fromkeys(expert, 10)] * 9])).rows == ()


def test_attention_alone_is_not_a_layer() -> None:
    block = ("copy_keys", "flash_fwd_kernel", "rescale", "sum_up", "next_block")
    assert layers(served([[dict.fromkeys(block, 10)] * 9])).rows == ()


def test_convolutions_are_layers() -> None:
    block = ("pad", "miopenSp3AsmConv_v21_1_2", "bias", "relu")
    _, stack = only(layers(served([[dict.fromkeys(block, 10)] * 9])).rows)
    assert stack.layers == 9


def test_layers_are_half_of_the_step() -> None:
    long = {"solver": 4 * LAYER_NS}
    assert layers(served([[long, *[LAYER] * 3]])).rows == ()


def test_without_steps_and_graphs_there_is_a_reason() -> None:
    assert str(layers(served([[LAYER]], annotated=False)).unavailable).startswith("no step and no graph")
    assert (
        layers(trace(api_calls=[call("hipInit", 0, 1)])).unavailable == "no kernels with times were recorded"
    )


def test_steps_that_are_too_long_do_not_keep_others_from_being_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build, "LONGEST", 100)
    monkeypatch.setattr(build, "_ROWS", 1)
    long, short = [LAYER] * 20, [LAYER] * 6
    work, stack = only(layers(served([long, short], kinds=["PREFILL", "DECODE"])).rows)
    assert (work.name, stack.layers) == ("decode step", 6)
    assert (
        layers(served([long])).unavailable
        == "every step has more than 20,000 kernels: record steps of less work"
    )


def test_work_on_another_stream_is_beside() -> None:
    step = served([[LAYER] * 4])
    rows = step.table("dispatches").to_dicts()
    other = kernel("copy_back", 1_010, 1_013, pid=7, stream_id=1, correlation_id=3, dispatch_id=999)
    beside = trace(dispatches=[*rows, other], ranges=step.table("ranges").to_dicts())
    row, stack = only(layers(beside).rows)
    assert (stack.layers, row.beside_ns) == (4, 3)


def test_each_thread_has_steps_of_its_own() -> None:
    """Two threads of one process, each with a GPU: the step of the second begins within that of the first."""
    one = served([[LAYER] * 4])

    def second(row: dict[str, Any]) -> dict[str, Any]:
        moved = {name: row[name] + 300 for name in ("start_ns", "end_ns")}
        ids = {
            name: number + 1_000
            for name in ("correlation_id", "dispatch_id")
            if (number := row.get(name)) is not None
        }
        return row | moved | ids | {name: 8 for name in ("agent_id", "tid") if name in row}

    dispatches, calls, ranges = (
        [*(rows := one.table(name).to_dicts()), *map(second, rows)]
        for name in ("dispatches", "api_calls", "ranges")
    )
    threads = trace(dispatches=dispatches, api_calls=calls, ranges=ranges)
    row, stack = only(layers(threads).rows)
    assert (row.steps, row.alike, stack.layers) == (2, 2, 4)


def test_each_rank_has_steps_of_its_own() -> None:
    one = served([[LAYER] * 4])
    ranks = {
        name: [
            {**row, "pid": 7 + rank, "rank": rank} for rank in range(2) for row in one.table(name).to_dicts()
        ]
        for name in ("dispatches", "ranges")
    }
    row, stack = only(layers(trace(dispatches=ranks["dispatches"], ranges=ranks["ranges"])).rows)
    assert (row.steps, row.alike, stack.layers, row.beside_ns) == (2, 2, 4, 0)


def test_a_graph_without_a_capture_has_layers() -> None:
    row, stack = only(layers(execution([["embedding", *KERNELS * 5, "argmax"]] * 2)).rows)
    assert (row.name, row.alike, stack.layers) == ("graph replay", 2, 5)
    assert {kernel.operator for kernel in stack.order} == {None}


def test_with_a_capture_its_kernels_have_operators() -> None:
    sequence = [["embedding", *KERNELS * 5, "argmax"]]
    row, stack = only(layers(adopt(execution(sequence, size=4), [capture(sequence, size=4)])).rows)
    assert row.name == "decode step"
    assert [kernel.operator for kernel in stack.order] == [f"op {name}" for name in KERNELS]


def eager(*, layer: str = "", around: str = "") -> Trace:
    """A step whose layers are operators, each layer in a module of its own, or all of them in one operator."""
    program = Program()
    with program.range("step[DECODE bs=4]"), program.span(around, "operator") if around else nullcontext():
        program.launch("embedding", 5)
        for number in range(4):
            with program.module(f"{layer}_{number}") if layer else nullcontext():
                for name, gpu_ns in LAYER.items():
                    program.launch(name, gpu_ns)
    return program.recorded()


def test_where_modules_are_recorded_the_layers_are_those() -> None:
    recording = eager(layer="DecoderLayer")
    result = layers(recording)
    assert (result.known_by, result.modules, result.rows) == ("modules", DECODER_LAYERS, ())
    (line,) = (line for line in modules_section(examine(recording, "x"), 9).lines if "recorded" in line)
    assert line == "The layers are recorded as modules: 4 x DecoderLayer."


def test_steps_without_modules_have_layers_by_repetition_beside_those_with() -> None:
    """Prompts are read in modules, tokens made by kernels that no module launches."""
    program = Program()
    with program.range("step[EXTEND bs=4 toks=64]"):
        for number in range(4):
            with program.module(f"DecoderLayer_{number}"):
                for name, gpu_ns in LAYER.items():
                    program.launch(name, 10 * gpu_ns)
    with program.range("step[DECODE bs=4]"):
        for name, gpu_ns in [*LAYER.items()] * 4:
            program.launch(name, gpu_ns)
    result = layers(program.recorded())
    row, stack = only(result.rows)
    assert (result.known_by, result.modules, row.name, stack.layers) == (
        "both",
        DECODER_LAYERS,
        "decode step",
        4,
    )


def test_repetition_shows_the_same_layers_as_the_modules() -> None:
    _, stack = only(layers_by_repetition(eager(layer="DecoderLayer")).rows)
    assert (stack.layers, stack.modules) == (4, "DecoderLayer")


def test_an_operator_around_all_layers_is_no_operator_of_one() -> None:
    _, stack = only(layers(eager(around="Torch-Compiled Region: 0/0")).rows)
    assert {kernel.operator for kernel in stack.order} == {None}


def test_it_says_how_layers_are_known_and_what_takes_their_time() -> None:
    section = modules_section(examine(served([[LAYER, OTHER] * 4]), "x"), 9)
    text = " ".join(section.lines)
    assert "Layers are known by repetition: no module is recorded for them" in text
    assert "A decode step: 8 layers take 1.52 us of 1.58 us kernel time (96.2 %); 60 ns are outside" in text
    titles = [grid.title for grid in section.grids]
    assert titles[:4] == [
        "Layers, by repetition",
        "Kinds of layers",
        "A layer, in its order",
        "Outside of the layers",
    ]
