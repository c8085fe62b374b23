"""The table of the kinds of step, against loops whose truth is known."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.overview import examine
from rocm_perf.analysis.serving.build import serving
from rocm_perf.analysis.serving.part import of_kind
from rocm_perf.errors import UsageError
from rocm_perf.model.results.serving import Serving, StepTotals
from rocm_perf.render.sections.serving import serving_section
from tests.unit.analysis.serving.loops import MS, US, Planted, ahead, in_time
from tests.unit.analysis.traces import call, kernel, marked, trace

PREFILL = Planted("step[EXTEND bs=2 toks=512]", 20 * MS, ("gemm_kernel", "gemm_kernel"))
DECODE_8, DECODE_4 = Planted("step[DECODE bs=8]", 4 * MS), Planted("step[DECODE bs=4]", 3 * MS)
LOOP = [PREFILL, *[DECODE_8] * 10, *[DECODE_4] * 5] * 4


def row(answer: Serving, kind: str, batch: int | None = None) -> StepTotals:
    return next(one for one in answer.rows if one.kind == kind and one.batch == batch)


def test_a_loop_that_waits_has_the_planted_times_and_tokens() -> None:
    answer = serving(in_time(LOOP, launch_ns=100 * US, after_ns=300 * US))
    prefill, decode = row(answer, "prefill"), row(answer, "decode")
    assert (prefill.steps, prefill.tokens, prefill.median_ns) == (4, 4 * 512, 20.4 * MS)
    assert (decode.steps, decode.tokens) == (60, 4 * (10 * 8 + 5 * 4))
    assert decode.total_ns == 40 * 4.4 * MS + 20 * 3.4 * MS
    assert decode.ns_per_token.value == decode.total_ns / 400
    assert decode.tokens_per_s.value == pytest.approx(400e9 / decode.total_ns)
    assert decode.busy.value == pytest.approx((40 * 4 + 20 * 3) * MS / decode.total_ns)
    assert [one.family for one in prefill.families] == ["gemm"]
    assert answer.between.total_ns == 0


def test_batch_sizes_of_decode_are_rows_below_it() -> None:
    answer = serving(in_time(LOOP))
    assert [(one.kind, one.batch) for one in answer.rows] == [
        ("prefill", None), ("decode", None), ("decode", 4), ("decode", 8),
    ]  # fmt: skip
    assert (row(answer, "decode", 4).median_ns, row(answer, "decode", 8).median_ns) == (3.4 * MS, 4.4 * MS)


def test_kernels_belong_to_the_step_that_launched_them_however_late_they_run() -> None:
    """The host is through with everything before the first prefill ends on the GPU."""
    answer = serving(ahead(LOOP, host_ns=100 * US))
    assert answer.placed_by == "the step in whose range the host launched it"
    assert row(answer, "prefill").median_ns == 20 * MS
    assert (row(answer, "decode", 8).median_ns, row(answer, "decode", 4).median_ns) == (4 * MS, 3 * MS)
    assert row(answer, "decode").host_ns == 100 * US
    assert row(answer, "decode").busy.value == 1
    assert any("runs ahead" in note for note in answer.notes)


def test_a_first_step_that_waits_for_the_gpu_says_from_when_it_counts() -> None:
    """One decode step, launched while the GPU was still at work on what was launched before the recording."""
    recording = trace(
        ranges=[marked("step[DECODE bs=4]", 0, 100 * US, pid=1, tid=1)],
        api_calls=[call("hipLaunchKernel", 10 * US, 12 * US, 1, pid=1, tid=1)],
        dispatches=[
            kernel("before", 20 * US, 8 * MS, pid=1, correlation_id=0),
            kernel("gemm", 8 * MS, 12 * MS, pid=1, correlation_id=1),
        ],
    )
    answer = serving(recording)
    assert (row(answer, "decode").kernels, row(answer, "decode").median_ns) == (1, 4 * MS)
    (note,) = (note for note in answer.notes if "counted from" in note)
    assert note.startswith("the first step is counted from 8.00 ms after its range on the host began")
    assert not any("counted from" in note for note in serving(in_time(LOOP)).notes)


@pytest.mark.parametrize("make", [in_time, ahead])
def test_the_steps_of_a_kind_lie_end_to_end(make: type) -> None:
    whole = make(LOOP)
    for kind in ("prefill", "decode"):
        part = of_kind(whole, kind)
        before, after = row(serving(whole), kind), row(serving(part), kind)
        assert [one.kind for one in serving(part).kinds] == [kind]
        assert (after.steps, after.tokens, after.median_ns) == (before.steps, before.tokens, before.median_ns)
        assert after.total_ns == pytest.approx(before.total_ns, rel=0.01)
        assert serving(part).between.total_ns == 0
        assert part.rows("dispatches") == 2 * before.steps
        assert part.rows("api_calls") >= 2 * before.steps


@pytest.mark.parametrize("make", [in_time, ahead])
def test_a_part_keeps_kernels_as_long_and_launches_before_them(make: type) -> None:
    whole = make(LOOP)
    part = of_kind(whole, "decode")
    length = "end_ns - start_ns"
    kept = part.table("dispatches").sql(f"SELECT {length} AS ns FROM self")["ns"]
    assert sorted(kept.unique()) == [1.2 * MS, 1.6 * MS, 1.8 * MS, 2.4 * MS]
    joined = part.table("dispatches").join(
        part.table("api_calls"), on="correlation_id", how="left", suffix="_call"
    )
    assert (joined["start_ns_call"] <= joined["start_ns"]).all()


def test_a_long_step_of_a_host_that_runs_ahead_hides_no_other() -> None:
    stalled = DECODE_8._replace(stall_ns=25 * MS)
    whole = ahead([PREFILL, *[DECODE_8] * 10, stalled, *[DECODE_8] * 5] * 2, queued_ns=200 * MS)
    part = of_kind(whole, "decode")
    assert row(serving(part), "decode").steps == row(serving(whole), "decode").steps == 32
    ranges = part.table("ranges").sort("start_ns")
    assert (ranges["start_ns"].slice(1) >= ranges["end_ns"].head(31)).all()


def test_a_kind_is_judged_by_its_steps_alone() -> None:
    """Decode steps whose host works longer than their kernels run, and prefill steps that keep the GPU busy."""
    slow = in_time([PREFILL, *[Planted("step[DECODE bs=1]", MS)] * 9] * 4, after_ns=3 * MS)
    answer = serving(slow)
    assert row(answer, "prefill").held_back_by == "kernel"
    assert row(answer, "decode").held_back_by == "host-bound"
    assert row(answer, "decode").because == "host busy elsewhere 96.9 % of the idle time"
    decode = examine(of_kind(slow, "decode"), "x")
    assert decode.devices[0].busy_ns == 36 * MS
    assert decode.wall_ns == 36 * 4.1 * MS
    assert decode.gaps.causes[0].cause == "host_busy"
    assert decode.findings[0].kind == "host-bound"


def test_idle_time_at_the_edges_of_a_single_step_is_the_hosts() -> None:
    """Its two kernels follow one another at once, a fifth of the step."""
    answer = serving(in_time([Planted("step[EXTEND bs=2 toks=512]", MS)], launch_ns=2 * MS, after_ns=2 * MS))
    (prefill,) = answer.kinds
    assert prefill.busy.value == pytest.approx(0.2)
    assert prefill.held_back_by == "host-bound"


def test_a_kind_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="no mixed step: its steps are prefill and decode"):
        of_kind(in_time(LOOP), "mixed")
    with pytest.raises(UsageError, match="none of its ranges says"):
        of_kind(trace(dispatches=[kernel("a", 0, 9)]), "decode")


def test_what_runs_between_steps_is_told_apart() -> None:
    """Sampling that is launched after the range of its step, as newer releases of vLLM do."""
    steps = [kernel("gemm", at, at + 8 * MS, correlation_id=at + 1, pid=1) for at in (0, 10 * MS)]
    sampling = kernel("sample", 8 * MS, 9 * MS, correlation_id=7, pid=1)
    calls = [call("hipLaunchKernel", at, at + 1, at + 1, pid=1, tid=1) for at in (0, 10 * MS)]
    calls.append(call("hipLaunchKernel", 8 * MS - 2, 8 * MS - 1, 7, pid=1, tid=1))
    marks = [
        marked(f"execute_context_0(0)_generation_{size}({size})", at, at + MS, pid=1, tid=1)
        for at, size in ((0, 4), (10 * MS, 4))
    ]
    answer = serving(trace(dispatches=[*steps, sampling], api_calls=calls, ranges=marks))
    assert row(answer, "decode").median_ns == 8 * MS
    assert (answer.between.total_ns, answer.between.gpu_ns, answer.between.kernels) == (2 * MS, MS, 1)


def test_shadows_on_the_gpu_do_where_the_host_was_not_recorded() -> None:
    kernels = [kernel("gemm", at * MS, (at + 2) * MS) for at in (0, 3, 6)]
    shadows = [
        marked(f"step[DECODE bs={size}]", at * MS, (at + 2) * MS, on_gpu=True, agent_id=0, stream_id=0)
        for at, size in ((0, 1), (3, 2), (6, 1))
    ]
    answer = serving(trace(dispatches=kernels, ranges=shadows))
    assert "annotation on the GPU" in answer.placed_by
    assert (row(answer, "decode").steps, row(answer, "decode").median_ns) == (3, 2 * MS)
    assert row(answer, "decode", 1).kernels == 1


def test_a_range_around_several_steps_is_not_one() -> None:
    loop = in_time([Planted("prefill", MS), *[Planted("decode", MS)] * 3])
    end = int(loop.table("ranges")["end_ns"].max())  # type: ignore[arg-type]
    start = int(loop.table("ranges")["start_ns"][1])
    phase = marked("decode loop", start, end, pid=1, tid=1)
    rows = [*loop.table("ranges").to_dicts(), phase]
    kernels, calls = (loop.table(name).to_dicts() for name in ("dispatches", "api_calls"))
    answer = serving(trace(dispatches=kernels, api_calls=calls, ranges=rows))
    assert (row(answer, "prefill").steps, row(answer, "decode").steps) == (1, 3)


def test_decode_alone_may_be_anything() -> None:
    """Images are decoded too: a bare name counts only beside prefill, or with a number."""
    assert serving(in_time([Planted("decode", MS)] * 4)).unavailable
    assert not serving(in_time([Planted("decode[bs=1]", MS)] * 4)).unavailable


def test_the_process_that_used_the_gpu_is_named_and_others_are_not_judged() -> None:
    """A server with an API process and two ranks, of which one has less to do."""
    loop = in_time([DECODE_8] * 4)
    kernels, calls, marks = (loop.table(name).to_dicts() for name in ("dispatches", "api_calls", "ranges"))
    second = {"pid": 2, "rank": 1}
    kernels += [{**one, **second, "agent_id": 1} for one in kernels[:-2]]
    calls += [{**one, **second} for one in calls]
    marks += [{**one, **second} for one in marks]
    calls.append(dict(call("hipGetDeviceCount", 0, 9, pid=3, tid=3)))
    frontend = [{"pid": 3, "command": "vllm serve model"}]
    document = examine(trace(dispatches=kernels, api_calls=calls, ranges=marks, processes=frontend), "x")
    workers = document.serving.workers
    assert [(one.pid, one.agents, one.steps) for one in workers if one.judged] == [(1, (0,), 4)]
    assert [one.pid for one in workers] == [1, 2, 3]
    assert (workers[2].gpu_ns, workers[2].name) == (0, "vllm serve model")
    assert len(document.devices) == 2
    said = serving_section(document, 20).lines[-1]
    assert said == "These are the steps of process 1 on GPU 0; 2 of 3 processes used one."
    assert row(document.serving, "decode").tokens == 32  # of one rank: both compute the same tokens


@pytest.mark.parametrize("name", ["execute_context_0(0)_generation_0(0)", "prefill[bs=0 tokens=0]"])
def test_no_tokens_cost_nothing(name: str) -> None:
    (totals,) = serving(in_time([Planted(name, MS)])).kinds
    assert totals.ns_per_token.value is None
    assert totals.tokens_per_s.value == 0


def test_a_recording_without_a_gpu_still_has_steps() -> None:
    marks = [marked("prefill", 0, 5 * MS, pass_id=1), marked("decode", 5 * MS, 6 * MS, pass_id=1)]
    answer = serving(trace(ranges=marks))
    assert row(answer, "decode").median_ns == MS
    assert row(answer, "decode").busy.value is None
    assert answer.notes == ("the steps launched no work on a GPU",)


def test_findings_are_about_steps_of_all_kinds_but_the_warm_up() -> None:
    """The first prefill compiles for as long as half of the rest takes; later ones are long by nature."""
    first = PREFILL._replace(gpu_ns=150 * MS)
    document = examine(in_time([first, *LOOP]), "x")
    assert document.phases.steps == len(LOOP)
    assert document.hotspots.dispatches == 2 * len(LOOP)
    assert [step.kind for step in document.steps.steps[:2]] == ["prefill", "decode"]


def test_layers_of_one_step_are_not_steps() -> None:
    """A single annotated step of 24 equal layers repeats nothing."""
    kernels = [kernel("ab"[at % 2], at * MS, (at + 1) * MS, correlation_id=1 + at, pid=1) for at in range(48)]
    calls = [call("hipLaunchKernel", at * US, at * US + 1, 1 + at, pid=1, tid=1) for at in range(48)]
    mark = marked("execute_context_9(8155)_generation_37(37)", 0, MS, pid=1, tid=1)
    document = examine(trace(dispatches=kernels, api_calls=calls, ranges=[mark]), "x")
    assert document.phases.steps == 0
    assert "1 step is annotated" in document.phases.found_by


def test_steps_that_do_not_say_their_tokens_are_named() -> None:
    answer = serving(in_time([Planted("execute_new_1_cached_32", MS)] * 3))
    assert row(answer, "mixed").ns_per_token.value is None
    assert any("what a token costs in mixed steps is not known" in note for note in answer.notes)


def test_a_request_that_is_decoded_has_one_token_at_least() -> None:
    """vLLM counts a prompt that it reads in chunks with those that it decodes."""
    answer = serving(in_time([Planted("execute_new_0_cached_32", MS)] * 3))
    decode = row(answer, "decode")
    assert decode.tokens is None
    assert any(note.startswith("? what a token costs in decode steps is the most") for note in answer.notes)
    assert decode.ns_per_token.value == decode.total_ns / (3 * 32)
    assert (decode.ns_per_token.doubt or "").startswith("at most: the annotations state requests")
    assert (decode.tokens_per_s.doubt or "").startswith("at least: ")


def test_overheads_of_the_profiler_are_of_no_process() -> None:
    loop = in_time([DECODE_8] * 2)
    kernels, calls, marks = (loop.table(name).to_dicts() for name in ("dispatches", "api_calls", "ranges"))
    marks.append(dict(marked("Lazy Function Loading", 0, US, pid=-1, tid=0, source="profiler")))
    answer = serving(trace(dispatches=kernels, api_calls=calls, ranges=marks))
    assert [one.pid for one in answer.workers] == [1]
