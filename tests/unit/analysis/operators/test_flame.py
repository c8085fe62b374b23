"""Modules, operators and kernels as one tree."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.operators import flame as module
from rocm_perf.analysis.operators.flame import flame
from rocm_perf.analysis.operators.tree import operator_tree
from rocm_perf.model.results.operators import FlameNode
from tests.unit.analysis.modules.program import Program
from tests.unit.analysis.operators.test_build import step

NODES = flame(operator_tree(step()))


def path(node: FlameNode) -> str:
    return node.name if node.parent is None else f"{path(NODES[node.parent])} > {node.name}"


def named(wanted: str) -> FlameNode:
    return next(node for node in NODES if path(node) == wanted)


def test_calls_with_the_same_names_around_them_are_one_node() -> None:
    inside = named("Linear_0 > aten::linear > aten::mm")
    outside = named("aten::linear > aten::mm")
    assert (inside.calls, inside.gpu_ns) == (1, 100)
    assert (outside.calls, outside.gpu_ns) == (1, 230)  # its kernel, and a copy


def test_kernels_and_copies_are_leaves_of_the_operator_that_launched_them() -> None:
    leaves = {path(node): (node.kind, node.gpu_ns) for node in NODES if node.kind in ("kernel", "copy")}
    assert leaves["Linear_0 > aten::linear > aten::mm > Cijk_mm"] == ("kernel", 100)
    assert leaves["aten::linear > aten::mm > D2D"] == ("copy", 30)


def test_python_frames_are_left_out_and_modules_lose_their_prefix() -> None:
    assert {node.kind for node in NODES} == {"module", "operator", "kernel", "copy"}
    assert not [node.name for node in NODES if ".py(" in node.name or node.name.startswith("nn.Module")]


def test_ranges_that_are_named_like_modules_are_the_upper_levels() -> None:
    program = Program()
    with (
        program.range("model.layers.0"),
        program.range("## Call CompiledFxGraph fal4xpiah2v6blbfmwwonu52 ##"),
    ):
        program.operator("aten::mm", 10)
    nodes = flame(operator_tree(program.recorded()))
    assert [(node.kind, node.name) for node in nodes] == [
        ("module", "model.layers.0"),
        ("module", "CompiledFxGraph fal4xpia"),
        ("operator", "aten::mm"),
        ("kernel", "mm"),
    ]


def test_every_parent_is_listed_before_and_is_no_smaller_than_what_is_in_it() -> None:
    inside = [0] * len(NODES)
    for place, node in enumerate(NODES):
        if node.parent is not None:
            assert node.parent < place
            inside[node.parent] += node.gpu_ns
    assert all(node.gpu_ns >= below for node, below in zip(NODES, inside, strict=True))


def test_all_gpu_time_with_an_owner_is_in_it() -> None:
    tree = operator_tree(step())
    assert sum(node.gpu_ns for node in NODES if node.parent is None) == tree.operators["gpu_self_ns"].sum()


def test_the_largest_nodes_are_kept_with_what_is_around_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NODES", 5)
    few = flame(operator_tree(step()))
    assert len(few) == 5
    assert few[0].gpu_ns == max(node.gpu_ns for node in NODES)
    assert all(node.parent is None or node.parent < place for place, node in enumerate(few))
