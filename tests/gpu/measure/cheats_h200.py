"""Every way to deceive a benchmark, tried on a GPU: caught by its gate, and not caught where that gate is open.

python tests/gpu/measure/cheats_h200.py OUT [NAME ...]

Needs torch, and rocm_perf with its dependencies importable (PYTHONPATH=src). Each cheat is one line of JSON in
OUT/cheats.jsonl, written at once; exit code 1 if one was not as expected. The first run also builds the tracer. With
ROCM_PERF_CHEATS_DEVICE=cpu it runs without a GPU, but for what needs streams and events.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rocm_perf.bench.ab_processes import AbRequest, ab_processes
from rocm_perf.bench.ab_result import AbResult
from rocm_perf.bench.judge.gates import CLOSED, Gates
from rocm_perf.bench.judge.trial import TrialPlan

FOLDER = Path(__file__).parent / "cheats"
AT_ONCE = 8  # each has three processes that import torch
ON_GPU = os.environ.get("ROCM_PERF_CHEATS_DEVICE", "cuda") == "cuda"


@dataclass(frozen=True)
class Cheat:
    """A cheat, the gate that stops it, and what the judge says then."""

    name: str
    gate: str
    caught_by: str
    base: str = "honest"
    inputs: str = "inputs"
    in_place: tuple[int, ...] = ()
    needs_gpu: bool = False


CHEATS = (
    Cheat("first_result_again", "fresh_inputs", "elements are wrong"),
    Cheat("by_address", "reused_buffers", "elements are wrong"),
    Cheat("writes_nothing", "fresh_outputs", "argument 2", "honest_out", "out_inputs", (2,)),
    Cheat("lower_precision", "type_tolerance", "elements are wrong"),
    Cheat("tensor_float_32", "type_tolerance", "elements are wrong", needs_gpu=True),
    Cheat("skips_zeros", "random_values", "elements are wrong", inputs="zeros"),
    Cheat("unfinished", "settled_results", "still changing", needs_gpu=True),
    Cheat("finds_reference", "own_process", "elements are wrong"),
    Cheat(
        "reads_freed_memory",
        "own_process",
        "elements are wrong",
        base="with_temporary",
        inputs="large_inputs",
        needs_gpu=True,  # its allocator hands out what was freed last
    ),
    Cheat("all_nan", "exact_nan", "are NaN where a number belongs"),
    Cheat("detects_warmup", "checked_laps", "elements are wrong"),
    Cheat("lazy", "plain_results", "Lazy is neither an array"),
    Cheat("changes_inputs", "unchanged_inputs", "argument 0 is not as it was"),
)
LOOSE = 2.0  # absolute: what a careless user allows for a product of 1024 x 1024 random numbers in bfloat16


def judged(
    cheat: Cheat, gates: Gates, *, processes: int = 1, laps: int = 2, lap_ms: float = 1e-3
) -> AbResult:
    """What the judge says of a cheat."""
    loose = None if gates.type_tolerance else LOOSE
    plan = TrialPlan(
        tolerance=loose, in_place=cheat.in_place, rounds=2, laps=laps, lap_ms=lap_ms, gates=gates
    )
    reference = FOLDER / "reference.py"
    return ab_processes(
        AbRequest(
            base=f"{reference}:{cheat.base}",
            new=f"{FOLDER / 'cheats.py'}:{cheat.name}",
            inputs=(f"{reference}:{cheat.inputs}",),
            plan=plan,
            processes=processes,
        )
    )


def shortly(result: AbResult) -> dict[str, object]:
    """A result in a line."""
    return {
        "verdict": result.verdict,
        "speedup": result.speedup if result.correct and result.difference else None,
        "interval": result.interval,
        "clock": result.base.processes[0].clock if result.base.processes else None,
        "problems": result.problems[:2],
        "doubts": result.doubts,
        "largest_absolute_error": result.largest_absolute_error,
    }


def tried(cheat: Cheat) -> dict[str, object]:
    """A cheat with its gate closed, and with its gate open."""
    started = time.monotonic()
    closed, opened = judged(cheat, CLOSED), judged(cheat, replace(CLOSED, **{cheat.gate: False}))
    is_caught = closed.verdict == "wrong" and cheat.caught_by in " ".join(closed.problems)
    return {
        **asdict(cheat),
        "as_expected": is_caught and opened.correct,
        "closed": shortly(closed),
        "open": shortly(opened),
        "seconds": round(time.monotonic() - started, 1),
    }


def tried_clocks() -> dict[str, object]:
    """Clocks, events and synchronisation that are patched: believed only by who asks the judged process."""
    cheat = Cheat("patches_clocks", "judges_clock", "own clock says")
    closed = judged(cheat, CLOSED, laps=12, lap_ms=5.0)
    opened = judged(cheat, replace(CLOSED, judges_clock=False), laps=12, lap_ms=5.0)
    is_caught = closed.speedup < 1.5 and any(cheat.caught_by in doubt for doubt in closed.doubts)
    return {
        **asdict(cheat),
        "as_expected": is_caught and opened.speedup > 100,
        "closed": shortly(closed),
        "open": shortly(opened),
    }


def control(base: str, expected: str) -> dict[str, object]:
    """An honest function: right, and twice as fast where the base does its work twice."""
    result = judged(Cheat("same", "", "", base=base), CLOSED, processes=2, laps=10, lap_ms=5.0)
    clock = result.base.processes[0].clock
    is_expected = result.verdict == expected and clock == ("device timestamps" if ON_GPU else "wall clock")
    return {"name": f"same against {base}", "as_expected": is_expected, "closed": shortly(result)}


def main(out: Path, names: list[str]) -> int:
    """Try the cheats that are named, or all."""
    out.mkdir(parents=True, exist_ok=True)
    wanted = [
        cheat for cheat in CHEATS if (not names or cheat.name in names) and (ON_GPU or not cheat.needs_gpu)
    ]
    failures = 0
    with (out / "cheats.jsonl").open("a") as file, ThreadPoolExecutor(AT_ONCE) as pool:

        def keep(line: dict[str, object]) -> None:
            nonlocal failures
            failures += not line["as_expected"]
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(
                line["name"], "as expected" if line["as_expected"] else f"NOT AS EXPECTED: {line}", flush=True
            )

        if not names:  # these are timed: nothing runs beside them
            keep(control("twice", "better"))
            keep(control("honest", "no difference shown"))
            keep(tried_clocks())
        for line in pool.map(tried, wanted):
            keep(line)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
