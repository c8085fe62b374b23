"""Replays joined with their captures: the right graph, the right launch, and a reason for what has neither."""

from __future__ import annotations

import polars as pl
import pytest

from rocm_perf.ingest.captures.adopt import adopt
from rocm_perf.model.adoption import Adoption
from rocm_perf.model.trace import Trace
from tests.unit.graph_traces import capture, execution

ATTENTION = [f"attention {place}" for place in range(20)]
MLP = [f"mlp {place}" for place in range(30)]


def launched(adopted: Trace) -> list[tuple[str, str | None, int | None]]:
    """Of each dispatch its kernel, and the kernel and graph of the launch that it replays."""
    launches = adopted.table("captured_launches").select("launch_id", "captured_graph", captured="kernel")
    dispatches = adopted.table("dispatches").join(
        launches, left_on="captured_launch", right_on="launch_id", how="left", maintain_order="left"
    )
    return list(dispatches.select("kernel", "captured", "captured_graph").iter_rows())


def adoption_of(adopted: Trace) -> Adoption:
    adoption = adopted.run.adoption
    assert adoption is not None
    return adoption


def test_two_graphs_are_told_apart_by_their_kernels() -> None:
    adopted = adopt(execution([MLP, ATTENTION, MLP]), [capture({"a": ATTENTION, "b": MLP})])
    assert launched(adopted) == [(k, k, 2) for k in MLP] + [(k, k, 1) for k in ATTENTION] + [
        (k, k, 2) for k in MLP
    ]
    assert adoption_of(adopted).matched_kernels == 80


def test_a_kernel_that_a_replay_lacks_leaves_the_others_with_their_launches() -> None:
    adopted = adopt(execution([MLP, MLP[:11] + MLP[12:]]), [capture([MLP])])
    short = adopted.table("dispatches")[30:]
    assert short["captured_launch"].to_list() == [*range(1, 12), *range(13, 31)]


def test_a_kernel_that_was_not_captured_is_owned_by_nobody() -> None:
    adopted = adopt(execution([[*MLP[:5], "stranger", *MLP[5:]]]), [capture([MLP])])
    assert [pair for pair in launched(adopted) if pair[1] is None] == [("stranger", None, None)]
    (reason,) = adoption_of(adopted).unmatched
    assert (reason.kernels, "not in the captured sequence" in reason.reason) == (1, True)


def test_of_layers_that_are_alike_each_replay_follows_the_one_before() -> None:
    step = [["first", *MLP], MLP, MLP, MLP, ["last", *MLP]]
    adopted = adopt(execution([*step[2:], *step, *step[:2]]), [capture(step)])
    graphs = [graph for _, _, graph in launched(adopted)]
    runs = [graph for place, graph in enumerate(graphs) if not place or graphs[place - 1] != graph]
    assert runs == [3, 4, 5, 1, 2, 3, 4, 5, 1, 2]  # though the recording begins within a step


def test_a_capture_of_another_batch_size_is_refused_though_its_kernels_agree() -> None:
    adopted = adopt(execution([MLP], size=32), [capture([MLP], size=16)])
    assert adopted.table("dispatches")["captured_launch"].null_count() == 30
    assert adoption_of(adopted).captures[0].refused == "batch size 16 was captured and 32 is replayed"


def test_of_captures_for_several_batch_sizes_the_one_that_is_stated_is_taken() -> None:
    adopted = adopt(execution([MLP], size=32), [capture([MLP], size=size) for size in (16, 32, 64)])
    assert [use.replays for use in adoption_of(adopted).captures] == [0, 1, 0]


@pytest.mark.parametrize(("seen", "replays"), [(32, 1), (30, 0)])
def test_a_batch_that_is_padded_is_of_the_larger_size_if_tensors_of_it_are_seen(
    seen: int, replays: int
) -> None:
    adopted = adopt(execution([MLP], size=30, seen=seen), [capture([MLP], size=32)])
    assert adoption_of(adopted).matched_replays == replays


def test_where_sizes_of_kernels_are_recorded_they_have_to_agree() -> None:
    capture_of_64 = capture([MLP], grid=64)
    assert adoption_of(adopt(execution([MLP], grid=64), [capture_of_64])).matched_kernels == 30
    assert adoption_of(adopt(execution([MLP], grid=32), [capture_of_64])).matched_kernels == 0


def test_a_replay_takes_over_the_sizes_that_the_recording_lacks() -> None:
    adopted = adopt(execution([MLP]), [capture([MLP], grid=64)])
    assert adopted.table("dispatches")["grid_x"].unique().to_list() == [64]


def test_a_capture_that_is_cut_off_owns_what_it_has() -> None:
    adopted = adopt(execution([MLP]), [capture([MLP[:12]], whole=False)])
    assert adopted.table("dispatches")["captured_launch"].to_list() == [*range(1, 13), *[None] * 18]
    (reason,) = adoption_of(adopted).unmatched
    assert (reason.kernels, "cut off" in reason.reason) == (18, True)


def test_another_model_is_refused_with_how_little_agrees() -> None:
    adopted = adopt(execution([MLP]), [capture([[*MLP[:15], *ATTENTION]])])
    assert adoption_of(adopted).captures[0].refused == (
        "42.9 % of the 30 kernels of a replay agree with the 35 of the nearest captured graph"
    )


def test_a_capture_without_names_of_kernels_says_so() -> None:
    whole = capture([MLP])
    nameless = whole.table("captured_launches").with_columns(pl.lit(None, pl.String).alias("kernel"))
    tables = {name: whole.table(name) for name in whole} | {"captured_launches": nameless}
    adopted = adopt(execution([MLP]), [Trace(tables)])
    assert "do not say which kernels" in (adoption_of(adopted).captures[0].refused or "")


def test_the_operators_inside_a_capture_come_along_and_those_around_it_do_not() -> None:
    adopted = adopt(execution([MLP]), [capture({"model": MLP})])
    names = adopted.table("captured_ops")["name"].to_list()
    assert sorted(names) == sorted([f"op {k}" for k in MLP] + ["nn.Module: model"])


def test_streams_that_run_side_by_side_are_told_apart() -> None:
    replays = execution([[*MLP[:20], *ATTENTION[:5], *MLP[20:]]])
    on_streams = replays.table("dispatches").with_columns(
        stream_id=pl.col("kernel").str.starts_with("attention").cast(pl.Int64)
    )
    tables = {name: replays.table(name) for name in replays} | {"dispatches": on_streams}
    adopted = adopt(Trace(tables), [capture([[*MLP[:3], *ATTENTION[:5], *MLP[3:]]])])
    assert [(kernel, captured) for kernel, captured, _ in launched(adopted) if kernel != captured] == []


def test_without_captures_or_replays_nothing_changes() -> None:
    eager = capture([MLP])
    assert adopt(eager, [eager]) is eager
    replays = execution([MLP])
    assert adopt(replays, []) is replays
