"""The first line: how much the GPU works in the part that is judged, which pauses do not belong to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from rocm_perf import api
from rocm_perf.analysis.overview import examine, overview
from rocm_perf.cli.demo import workload_file
from rocm_perf.errors import EmptyCaptureError
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding, Kind
from rocm_perf.model.results.ledger import CAUSES
from rocm_perf.render.figures.time_shares import judged_time
from rocm_perf.render.sections.headline import (
    CAUSES_OF,
    LIMITS,
    few_words,
    limit_line,
    whole_sentences,
    worth,
)
from rocm_perf.render.sections.kernels import steps_section
from rocm_perf.units import NS_PER_MS, NS_PER_US, format_ns, format_share
from tests.recordings import answer, sampled
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import kernel, trace
from tests.unit.render.documents import H200, ROOT, recorded

MS, US = NS_PER_MS, NS_PER_US
LEAST_SHARE = 0.005  # of the judged time: what takes less is not told
SHARED = ROOT.parent / "shared" / "data"
SUFFIXES = (".gz", ".csv", ".db", ".rpd", ".pftrace")
OF_KERNELS = (
    "torch_trace",
    "rocprofv3_csv",
    "rocpd",
    "rpd",
    "rocprofv3_json",
    "rocprof_v1",
    "rocprof_v2",
    "pftrace",
)


def _shared() -> list[Path]:
    """Recordings that are kept beside the repository, if they are here."""
    if not SHARED.is_dir():
        return []
    return sorted(
        path for name in OF_KERNELS for path in (SHARED / name).iterdir() if path.suffix in SUFFIXES
    )


def test_pauses_are_told_apart() -> None:
    """Kernels of a millisecond every two, in three blocks that lie 100 and 200 ms apart."""
    starts = [block + 2 * MS * number for block in (0, 140 * MS, 380 * MS) for number in range(20)]
    rows = [kernel(f"k{number}", at, at + MS - number) for number, at in enumerate(starts)]
    told = overview(trace(dispatches=rows), "run")
    (line,) = limit_line(told)
    assert line.startswith(
        "Of 117 ms, apart from 2 pauses of 302 ms in all, the GPU computes 60.0 ms (51.3 %) and is idle for 57.0 ms "
        "(48.7 %): "
    )
    idle = next(finding for finding in told.findings if finding.id == "host-not-recorded")
    assert worth(idle, told).startswith("57.0 ms of 117 ms")


@pytest.mark.parametrize("saved_ns", [0, MS // 4, 2 * MS])
def test_a_worth_of_next_to_nothing_is_not_told(saved_ns: int) -> None:
    told = overview(
        trace(dispatches=[kernel("k", 2 * MS * n, 2 * MS * n + MS - n) for n in range(50)]), "run"
    )
    finding = Finding("x", "info", "t", time_at_stake_ns=saved_ns)
    assert bool(worth(finding, told)) == (saved_ns > MS)


@pytest.mark.parametrize("gap", [0, 300 * MS])
def test_one_pause_or_none(gap: int) -> None:
    starts = [2 * MS * number + (gap if number >= 20 else 0) for number in range(40)]
    rows = [kernel(f"k{number}", at, at + MS - number * US) for number, at in enumerate(starts)]
    (line,) = limit_line(overview(trace(dispatches=rows), "run"))
    assert line.startswith(
        "Of 77.9 ms, apart from a pause of 301 ms, the GPU computes" if gap else "Of 79.0 ms the GPU computes"
    )


@pytest.mark.parametrize(
    ("late", "step"),
    [
        (0, "Of a step of 117 us the GPU"),
        (MS, "Of a step of 117 us, up to the end of its last work, the GPU"),
    ],
)
def test_a_step_that_lasts_longer_than_its_phase_says_so(late: int, step: str) -> None:
    examined = examine(api.simulate(workload_file("sync_in_loop")), "run")
    (phase,) = [row for row in examined.phases.rows if row.name == "steady"]
    phases = replace(examined.phases, rows=(replace(phase, end_ns=phase.end_ns - late),))
    (line,) = limit_line(replace(examined, phases=phases))
    assert line.startswith(step)


def test_collectives_that_run_alone_are_told_apart() -> None:
    """A GPU that waits inside of a collective looks as busy as one that computes."""
    rows = [
        {**kernel(name, at, end), "agent_id": agent}
        for agent, early in enumerate((800 * US, 200 * US))
        for step in range(20)
        for name, at, end in (
            ("gemm", step * MS, step * MS + early - step),
            ("ncclDevKernel_AllReduce", step * MS + early, step * MS + 900 * US),
        )
    ]
    told = overview(trace(dispatches=rows), "run")
    (line,) = limit_line(told)
    assert line.startswith(
        "Of 19.9 ms the 2 GPUs on average compute 10.00 ms (50.3 %), communicate alone 8.00 ms (40.2 %) and are idle "
        "for 1.90 ms (9.5 %)"
    )


def limit(finding_id: str, kind: Kind, busy_ns: int) -> str:
    """What is said to be the limit above such a first finding, of a GPU that works so long in each millisecond."""
    rows = [kernel("k", MS * number, MS * number + busy_ns - number) for number in range(40)]
    finding = Finding(id=finding_id, severity="info", title="k is slow", kind=kind)
    (line,) = limit_line(document(trace(dispatches=rows), findings=(finding,)))
    return line.rpartition("%): ")[2] if line.count("%): ") == 1 else line.partition("%): ")[2]


def test_kernels_are_not_the_limit_of_a_gpu_that_is_mostly_idle() -> None:
    assert limit("kernel-k", "kernel-memory", 900 * US) == "its kernels are the limit (k 90.2 %)."
    assert limit("kernel-k", "kernel-memory", 300 * US) == (
        "its kernels have the most to gain (k 30.5 %); beside that: nothing recorded says why 69.5 %."
    )


def test_a_cause_as_large_as_the_kernels_is_named_beside_them() -> None:
    """Kernels of 0.6 ms in each millisecond, and nothing that says why the GPU is idle between them."""
    assert limit("kernel-k", "kernel", 600 * US) == (
        "its kernels are the limit (k 60.6 %); beside that: nothing recorded says why 39.4 %."
    )
    assert limit("kernel-k", "kernel", 850 * US) == "its kernels are the limit (k 85.3 %)."


def test_a_late_rank_is_not_said_to_be_communication() -> None:
    assert limit("late-rank", "communication", 900 * US) == "one rank holds the others up."
    assert limit("exposed-communication", "communication", 900 * US) == "communication is the limit."


ABOUT: dict[str, tuple[str, ...]] = {  # what may stand behind the words of each limit
    words: tuple(CAUSES[cause] for cause in CAUSES_OF.get(kind, ())) for kind, words in LIMITS.items()
}


@pytest.mark.parametrize("name", sampled(H200))
@pytest.mark.whole
def test_the_sentence_says_what_the_ledger_and_the_first_finding_say(name: str) -> None:
    check_sentence(recorded(name))


@pytest.mark.parametrize("path", _shared(), ids=lambda path: path.name)
@pytest.mark.thorough
def test_the_sentence_of_every_shared_recording(path: Path) -> None:
    try:
        document = answer(path)
    except EmptyCaptureError:
        return  # nothing is said of it at all
    check_sentence(document)


def check_sentence(told: Document) -> None:
    """The shares are those of the ledger, sum to all of it, and the limit is what the first finding is about."""
    lines = list(limit_line(told))
    ledger = told.ledger
    if ledger.unavailable or not ledger.judged_ns or ledger.idle_unknown:
        assert not lines or "in all" in lines[0]
        return
    (line,) = lines
    doing, _, limit = line.partition(": ") if told.findings else (line, "", "")
    for kind, words in {"kernel": "comput", "communication": "communicat", "idle": "idle for"}.items():
        share = sum(entry.total_ns for entry in ledger.entries if entry.kind == kind) / ledger.judged_ns
        said = re.search(rf"{words}.*?\(([^()]+)\)", doing)
        assert (said[1] if said else None) == (format_share(share) if share >= LEAST_SHARE else None)
    if not limit or not told.findings[0].kind:
        return
    words = next(words for words in sorted(ABOUT, key=len, reverse=True) if limit.startswith(words))
    kinds = {kind for kind, of_kind in LIMITS.items() if of_kind == words}
    exceptions = ("its kernels have", "one rank", "a slow link")
    assert told.findings[0].kind in kinds or limit.startswith(exceptions) or words == LIMITS["kernel"]
    for cause, share in re.findall(r"([a-zA-Z' ]+?) ([<\d.]+ %)", limit.partition("(")[2].partition(")")[0]):
        known = [key for key, name in CAUSES.items() if name == cause.strip(", ")]
        if known:
            assert format_share(ledger.total_ns(*known) / ledger.judged_ns) == share
            assert cause.strip(", ") in ABOUT[words]


@pytest.mark.parametrize(
    ("remedy", "few"),
    [
        ("Wait once.", "Wait once"),
        ("Fuse them, or give each more work. Then measure.", "Fuse them, or give each more work"),
        (
            "Replay each step as one CUDA graph (torch.cuda.graph, or torch.compile in mode='reduce-overhead'), or so.",
            "Replay each step as one CUDA graph",
        ),
        (
            'In serving: model = torch.compile(model, mode="reduce-overhead") replays each step, for equal shapes.',
            'model = torch.compile(model, mode="reduce-overhead") replays each step',
        ),
        (
            "Load ahead of need: DataLoader(num_workers=, prefetch_factor=, pin_memory=True), in Trainer another name.",
            "Load ahead of need",
        ),
        ("Call(" + "first, " * 20 + "last)", "Call(" + "first, " * 8 + "first,…"),
        (
            "The host waits 2 times in a step, which no graph can hold: remove those waits first (.item() and such).",
            "Remove those waits first (.item() and such)",
        ),
        ("Nothing can be concluded. Record the process that launches.", "Record the process that launches"),
        (
            "In torch, if it matters: torch.compile makes one kernel of them all, and so does Triton's jit, if asked.",
            "torch.compile makes one kernel of them all, and so does Triton's jit",
        ),
        ("X" * 90, "X" * 71 + "…"),
    ],
)
def test_a_remedy_in_few_words(remedy: str, few: str) -> None:
    assert few_words(remedy) == few
    assert len(few_words(remedy)) <= 72


def test_whole_sentences_as_many_as_fit() -> None:
    text = "Do this first. Then do that. And then measure again, with and without it."
    assert whole_sentences(text, 30) == "Do this first. Then do that."
    assert whole_sentences(text, 200) == text
    assert whole_sentences(text, 20) == "Do this first."


def test_without_kernels_copies_are_what_takes_time() -> None:
    copies = [{"kind": "H2D", "start_ns": MS * at, "end_ns": MS * at + US} for at in range(9)]
    (line,) = limit_line(overview(trace(copies=copies), "run"))
    assert line.startswith("Copies take 9.00 us in all; no kernel is in the recording")


def test_a_step_is_written_as_the_phases_write_it_where_the_mean_is_the_same() -> None:
    """A mean of 241 ms beside a median of 240 ms is one time; what the GPU does in a step is never longer than it."""
    examined = examine(api.simulate(workload_file("sync_in_loop")), "run")
    mean = examined.ledger.judged_ns / examined.judged_steps
    for median, said in ((mean / 1.004, "a step"), (mean / 1.02, "an average step")):
        step_ns = replace(examined.phases.step_ns, value=median)
        told = replace(examined, phases=replace(examined.phases, step_ns=step_ns))
        (line,) = limit_line(told)
        length = median if said == "a step" else mean
        assert line.startswith(f"Of {said} of {format_ns(length)}")
        assert judged_time(told) == f"{said} of {format_ns(length)}"
    one_kernel = replace(examined, phases=replace(examined.phases, kernel="k"))
    assert judged_time(one_kernel).endswith(" from one launch to the next")


def test_the_section_on_steps_counts_and_measures_as_the_phases_do() -> None:
    examined = examine(api.simulate(workload_file("slivers")), "run")
    phases = replace(examined.phases, steps=59, step_ns=replace(examined.phases.step_ns, value=632 * US))
    (first, *_) = steps_section(replace(examined, phases=phases), 5).lines
    assert first.startswith("59 steps, found by: ")
    assert ". Median 632 us and " in first
    mean = replace(phases.step_ns, formula="time of the steady state / its steps")
    (first, second, *_) = steps_section(replace(examined, phases=replace(phases, step_ns=mean)), 5).lines
    assert ". On average 632 us and " in first
    assert "█" not in second
