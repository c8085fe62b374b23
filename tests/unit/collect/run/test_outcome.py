"""What was recorded, and what is missing although it must be there."""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl
import pytest

from rocm_perf.backends.base import Command, Domain
from rocm_perf.collect.plan.planned import PlannedRun
from rocm_perf.collect.run.outcome import Seen, compared, look
from rocm_perf.model import schema
from rocm_perf.model.run import Loss, RunInfo
from rocm_perf.model.trace import Trace


def _run(
    *domains: Domain,
    purpose: str = "trace",
    counters: tuple[str, ...] = (),
    profiler: str = "rocprofv3",
    profiled: bool = True,
    files: tuple[str, ...] = (),
) -> PlannedRun:
    command = Command(argv=("x",), files=dict.fromkeys(files, ""))
    return PlannedRun(
        number=1,
        purpose=purpose,
        profiler=profiler,
        profiled=profiled,
        folder="pass_1",
        command=command,
        domains=domains,
        counters=counters,
    )


def _trace(
    kernels: int = 0, calls: tuple[tuple[str, str], ...] = (), counters: int = 0, losses: int = 0
) -> Trace:
    tables = {
        "dispatches": pl.DataFrame({"kernel": ["k"] * kernels}, schema={"kernel": pl.String}),
        "api_calls": pl.DataFrame(list(calls), schema={"domain": pl.String, "name": pl.String}, orient="row"),
        "counters": pl.DataFrame({"counter": ["A"] * counters, "value": [1.0] * counters}),
    }
    made = {name: schema.conform(name, frame) for name, frame in tables.items() if frame.height}
    return Trace(made, RunInfo(losses=(Loss("f.csv", "cut off"),) * losses))


LAUNCH = ("hip", "hipLaunchKernel")


@pytest.mark.parametrize(
    ("trace", "run", "outcome", "missing"),
    [
        (_trace(), _run("kernel", "hip"), "empty", ()),
        (_trace(2, (LAUNCH,)), _run("kernel", "hip", "marker", "copy"), "recorded", ()),
        (_trace(2), _run("kernel"), "recorded", ()),
        (_trace(2), _run("kernel", "hip"), "partly", ("hip",)),
        (_trace(2, (("hsa", "hsa_signal_wait"),)), _run("kernel", "hip", "hsa"), "partly", ("hip",)),
        (_trace(2, (("cuda", "cudaLaunchKernel"),)), _run("kernel", "hip", profiler="cupti"), "recorded", ()),
        (_trace(0, (LAUNCH,)), _run("kernel", "hip"), "partly", ("kernel",)),
        (_trace(0, (("hip", "hipMalloc"),)), _run("kernel", "hip"), "recorded", ()),
        (_trace(2, counters=2), _run("kernel", purpose="counters", counters=("A",)), "recorded", ()),
        (_trace(2), _run("kernel", purpose="counters", counters=("A",)), "partly", ("counters",)),
        (_trace(2), _run("kernel", purpose="pc sampling"), "partly", ("pc sampling",)),
        (_trace(2, (LAUNCH,), losses=1), _run("kernel", "hip"), "partly", ()),
    ],
)
def test_what_must_be_there_is_missed(
    trace: Trace, run: PlannedRun, outcome: str, missing: tuple[str, ...]
) -> None:
    seen = compared(trace, run)
    assert (seen.outcome, seen.missing) == (outcome, missing)
    assert bool(seen.explanation) == (outcome != "recorded")


def test_hsa_without_hip_is_told_apart_from_kernels_alone() -> None:
    run = _run("kernel", "hip", "hsa")
    assert "HSA calls but no HIP call" in compared(_trace(1, (("hsa", "x"),)), run).explanation
    assert "kernels but no HIP call" in compared(_trace(1), run).explanation


def test_a_folder_with_our_own_files_is_empty(tmp_path: Path) -> None:
    file = tmp_path / "counters.txt"
    file.write_text("pmc: A\n")
    (tmp_path / ".exit_status").write_text("0")
    assert look(tmp_path, _run("kernel", files=(str(file),))).outcome == "empty"
    assert look(tmp_path / "absent", _run("kernel")).outcome == "empty"


def test_what_cannot_be_read_is_a_failure_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "x_results.db").write_bytes(b"SQLite format 3\x00" + b"\x00" * 50)
    seen = look(tmp_path, _run("kernel"))
    assert seen.outcome == "failed"
    assert "what rocprofv3 wrote cannot be read: " in seen.explanation
    assert str(tmp_path) not in seen.explanation


def test_timing_needs_no_file(tmp_path: Path) -> None:
    assert look(tmp_path / "none", _run(profiler="timing", profiled=False)) == Seen("recorded")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (
            {"steps": 0, "before": 3, "counted_by": "", "functions": ["step", "main"]},
            "no steps were seen: the program made no optimizer step and called no nn.Module twice "
            "(functions of the script: step, main)",
        ),
        (
            {"steps": 1, "before": 3, "counted_by": "module.forward", "functions": []},
            "too few steps were seen: the program made 1 (calls of the outermost nn.Module), and recording begins "
            "after 3 steps (--torch-wait and --torch-warmup)",
        ),
        (
            {
                "steps": 0,
                "before": 3,
                "counted_by": "",
                "function": "stepp",
                "calls": 0,
                "functions": ["step"],
            },
            "no steps were seen: the program never called stepp once torch was loaded (functions of the script: step)",
        ),
        ({"steps": "many"}, "torch wrote nothing"),
    ],
)
def test_a_schedule_that_never_came_says_why(tmp_path: Path, word: dict[str, object], said: str) -> None:
    (tmp_path / ".rank-7.steps.json").write_bytes(msgspec.json.encode(word))
    seen = look(tmp_path, _run("kernel", profiler="torch"))
    assert (seen.outcome, seen.explanation) == ("empty", said)
