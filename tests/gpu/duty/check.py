"""What `profile --duty` costs on a machine with an NVIDIA GPU: a decode loop of torch and a plain CUDA loop, each alone
and under windows that recur, interleaved, as medians; whether the windows are where they belong and hold what they
should; and one whole `rocm-perf profile --duty`. Prints one JSON object; exit code 1 if a cost is above the limit.

    PYTHONPATH=src:. python tests/gpu/duty/check.py [--duty 10%] [--period 2] [--rounds 7] [--most-seconds 225]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rocm_perf.backends.base import Wish
from rocm_perf.backends.nvidia.cupti import CuptiProfiler
from rocm_perf.backends.probe import probe_machine
from rocm_perf.collect.request.window import window_of
from rocm_perf.ingest.load import load
from rocm_perf.model.window import Window

COST = Path(__file__).parents[1] / "cost"
MACHINE = probe_machine()
DOMAINS = ("kernel", "hip", "copy", "marker")
ROCM_PERF = (sys.executable, "-m", "rocm_perf.cli.main")
LIMIT_PERCENT = 1.0
LEFT_FOR_PROFILE_S = 45.0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--duty", default="10%")
    parser.add_argument("--period", type=float, default=2.0)
    parser.add_argument("--periods", type=int, default=2, help="of each timed loop")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--most-seconds", type=float, default=225, help="no round is begun later")
    args = parser.parse_args()
    begun = time.monotonic()
    window = window_of({"duty": args.duty, "period": args.period})
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        CuptiProfiler().prepare(MACHINE)
        programs = {"plain": plain(work, args.periods * args.period)}
        programs["decode"] = (*decode(), "1", "--seconds", str(args.periods * args.period))
        until = begun + args.most_seconds - LEFT_FOR_PROFILE_S
        times = interleaved(programs, window, work, args.rounds, until)
        result = {
            "gpu": MACHINE.gpus[0].name,
            "window": window.sentence,
            "costs": {program: cost(of_program) for program, of_program in times.items()},
            "recordings": {program: recording(work / program) for program in programs},
            "profile": profile(args.duty, args.period, work),
            "seconds": round(time.monotonic() - begun, 1),
        }
    print(json.dumps(result, indent=1))
    return int(any(each["cost_percent"] >= LIMIT_PERCENT for each in result["costs"].values()))


def decode() -> tuple[str, ...]:
    return (sys.executable, str(COST / "decode.py"))


def plain(work: Path, seconds: float) -> tuple[str, ...]:
    """The loop of small kernels, with as many launches as take about so long."""
    program, trial = work / "plain-loop", 400_000
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    subprocess.run([nvcc, "-O2", "-o", program, COST / "plain.cu"], check=True)
    return (str(program), str(round(trial * seconds / timed((str(program), str(trial)), {})["seconds"])))


def interleaved(
    programs: dict[str, tuple[str, ...]], window: Window, work: Path, rounds: int, until: float
) -> dict[str, dict[str, list[float]]]:
    """Microseconds per launch of each program alone and in windows, by turns; the order changes from round to round."""
    times: dict[str, dict[str, list[float]]] = {name: {"alone": [], "duty": []} for name in programs}
    for number in range(rounds):
        if time.monotonic() > until:
            break
        for name, command in programs.items():
            for way in ("alone", "duty") if number % 2 else ("duty", "alone"):
                added = environment(window, work / name / str(number)) if way == "duty" else {}
                done = timed(command, added)
                times[name][way].append(1e6 * done["seconds"] / done["launches"])
    return times


def environment(window: Window, folder: Path) -> dict[str, str]:
    """What makes the driver load the tracer."""
    wish = Wish(domains=DOMAINS, window=window)
    return CuptiProfiler().command(wish, (), folder, MACHINE).environment


def timed(command: tuple[str, ...], added: dict[str, str]) -> dict[str, float]:
    done = subprocess.run(
        command, env={**os.environ, **added}, capture_output=True, text=True, check=True, timeout=120
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def cost(times: dict[str, list[float]]) -> dict[str, Any]:
    """The medians, what the windows cost, and how far apart equal runs lie."""
    medians = {way: statistics.median(values) for way, values in times.items()}
    low, _, high = statistics.quantiles(times["alone"], n=4)
    return {
        "us_per_launch": {way: round(value, 4) for way, value in medians.items()},
        "cost_percent": round(100 * (medians["duty"] / medians["alone"] - 1), 3),
        "quartiles_of_alone_percent": [
            round(100 * (value / medians["alone"] - 1), 2) for value in (low, high)
        ],
        "rounds": len(times["duty"]),
        "all": {way: [round(value, 4) for value in values] for way, values in times.items()},
    }


def recording(folder: Path) -> dict[str, Any]:
    """What the last recording of a program holds."""
    trace = load(max(folder.rglob("*.rptrace"), key=lambda file: file.stat().st_mtime_ns))
    windows = trace.table("windows").sort("start_ns")
    kernels = trace.table("dispatches").sort("start_ns")
    inside = [
        kernels.filter(kernels["start_ns"].is_between(start, end)).height
        for start, end in windows.select("start_ns", "end_ns").iter_rows()
    ]
    return {
        "windows": windows.height,
        "lengths_ms": [round(length / 1e6, 2) for length in windows["end_ns"] - windows["start_ns"]],
        "distances_ms": [round(each / 1e6, 2) for each in windows["start_ns"].diff().drop_nulls()],
        "kernels_in_each": inside,
        "kernels": kernels.height,
        "api_calls": trace.rows("api_calls"),
        "losses": [loss.what for loss in trace.run.losses],
        "notices": list(trace.run.notices),
    }


def profile(duty: str, period: float, work: Path) -> dict[str, Any]:
    """One whole `rocm-perf profile --duty`, and what it says first."""
    app = (*decode(), "1", "--seconds", str(4 * period))
    options = ("--duty", duty, "--period", str(period), "--json", "-d", str(work / "runs"))
    done = subprocess.run(
        [*ROCM_PERF, "profile", *options, "--", *app], capture_output=True, text=True, check=False, timeout=90
    )
    try:
        document = json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"exit_code": done.returncode, "stderr": done.stderr[-2000:]}
    runs = document.get("runs") or [document]
    return {
        "exit_code": done.returncode,
        "findings": [finding["title"] for run in runs for finding in run.get("findings", [])][:6],
        "windows": [run.get("windows") for run in runs],
    }


if __name__ == "__main__":
    sys.exit(main())
