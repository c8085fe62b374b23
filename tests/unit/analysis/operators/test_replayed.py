"""Operators of graph replays: every replay is a call of what was captured, made where the graph was launched."""

from __future__ import annotations

from rocm_perf.analysis.operators.build import operators
from rocm_perf.analysis.operators.tree import operator_tree
from rocm_perf.analysis.serving.part import of_kind
from rocm_perf.analysis.time.totals import domain_totals
from rocm_perf.ingest.captures.adopt import adopt
from tests.unit.graph_traces import capture, execution

KERNELS = [f"k{place}" for place in range(10)]
OTHERS = [f"o{place}" for place in range(5)]
REPLAYS = execution([KERNELS, OTHERS, KERNELS])
ADOPTED = adopt(REPLAYS, [capture({"model": KERNELS, "head": OTHERS})])


def test_every_kernel_is_owned_by_the_operator_that_launched_it_into_the_graph() -> None:
    tree = operator_tree(ADOPTED)
    owners = tree.spans["name"].gather(tree.kernels["owner"]).to_list()
    assert owners == [f"op {kernel}" for kernel in tree.kernels["kernel"]]
    assert operators(ADOPTED).owned_ns == operators(ADOPTED).total_ns == 250


def test_a_replay_is_a_call_and_takes_no_time_of_the_host() -> None:
    by_name = {row.name: row for category in operators(ADOPTED).categories for row in category.operators}
    assert (by_name["op k3"].calls, by_name["op k3"].gpu_self_ns, by_name["op k3"].host_self_ns) == (2, 20, 0)
    assert by_name["op o3"].calls == 1
    assert [shape.shapes for shape in by_name["op k3"].shapes] == ["[[1,3]]"]


def test_modules_hold_what_ran_in_them() -> None:
    modules = {place.name: place for place in operators(ADOPTED).modules}
    assert (modules["model"].calls, modules["model"].gpu_ns, modules["model"].dispatches) == (2, 200, 20)
    assert (modules["head"].calls, modules["head"].gpu_ns) == (1, 50)


def test_replays_lie_in_the_function_that_launched_them() -> None:
    spans = operator_tree(ADOPTED).spans
    assert set(spans["site"]) == {"serve.py(9): replay"}
    assert [(site.name, site.gpu_ns) for site in operators(ADOPTED).call_sites] == [
        ("serve.py(9): replay", 250)
    ]


def test_spans_of_replays_are_numbered_in_the_order_in_which_they_ran() -> None:
    spans = operator_tree(ADOPTED).spans
    assert spans["row"].to_list() == list(range(spans.height))
    modules = spans.filter(spans["parent"].is_null())
    assert modules["gpu_total_ns"].to_list() == [100, 50, 100]
    assert modules["behind"].to_list() == [*modules["row"][1:], spans.height]


def test_the_host_sees_nothing_of_the_capture() -> None:
    assert domain_totals(ADOPTED) == domain_totals(REPLAYS)


def test_the_steps_of_a_kind_keep_what_was_captured() -> None:
    decode = of_kind(adopt(execution([KERNELS], size=4), [capture([KERNELS], size=4)]), "decode")
    assert operators(decode).owned_ns == operators(decode).total_ns == 100
