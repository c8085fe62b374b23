"""Whether programs survive that CUPTI is detached from them and attached again, hundreds of times, while they launch as
fast as they can: operators of torch, CUDA graphs, and threads with either or both, at once or by turns. Many processes
at once, with freed memory overwritten (MALLOC_PERTURB_), so that a use of it does not go unseen. Prints one JSON
object for each round; exit code 1 if a process died.

    PYTHONPATH=src:. python tests/gpu/duty/detaching.py [--seconds 30] [--processes 4] [--period 0.5] [--delay S]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rocm_perf.backends.base import Wish
from rocm_perf.backends.nvidia.cupti import CuptiProfiler
from rocm_perf.backends.probe import probe_machine
from rocm_perf.collect.request.window import window_of
from rocm_perf.ingest.load import load
from rocm_perf.model.trace import Trace

PROGRAMS = {
    "operators": ("operators",),
    "graphs": ("graphs",),
    "threads": ("operators",) * 3,
    "turns": ("turns",) * 2,
    "threads with graphs": ("graphs",) * 3,
    "graphs beside operators": ("graphs", "operators"),
}
IN_A_ROW = 200


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--program", choices=PROGRAMS, help="be this program, instead of recording all of them"
    )
    parser.add_argument("--only", choices=PROGRAMS, action="append", help="of the programs (default: all)")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--processes", type=int, default=4, help="of each program, all at once")
    parser.add_argument("--period", type=float, default=0.5)
    parser.add_argument("--delay", type=float, help="seconds before the first window, when CUPTI is attached")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--alone", action="store_true", help="without recording: whether they would live at all"
    )
    args = parser.parse_args()
    if args.program:
        run(args.program, args.seconds)
        return 0
    died = False
    for _ in range(args.rounds):
        with tempfile.TemporaryDirectory() as folder:
            results = recorded(args.only or tuple(PROGRAMS), args, Path(folder))
        print(json.dumps(results))
        died |= any(program["died"] for program in results.values())
    return int(died)


def recorded(programs: Sequence[str], args: argparse.Namespace, work: Path) -> dict[str, dict[str, Any]]:
    """Of each program: how many processes died of what, and how many windows the others have."""
    machine, profiler = probe_machine(), CuptiProfiler()
    profiler.prepare(machine)
    window = window_of({"duty": "25%", "period": args.period, "delay": args.delay})
    wish = Wish(domains=("kernel", "hip", "copy", "marker"), window=window)
    running: dict[str, list[subprocess.Popen[str]]] = {program: [] for program in programs}
    for program in [*programs] * args.processes:
        added = {} if args.alone else profiler.command(wish, (), work / program, machine).environment
        command = [sys.executable, __file__, "--program", program, "--seconds", str(args.seconds)]
        environment = {**os.environ, **added, "MALLOC_PERTURB_": "165"}
        running[program].append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
    return {program: outcome(started, work / program) for program, started in running.items()}


def outcome(started: list[subprocess.Popen[str]], folder: Path) -> dict[str, Any]:
    ends = [(process.communicate()[1], process.returncode) for process in started]
    for said, code in ends:
        if code:
            print(code, said[-3000:], file=sys.stderr)
    traces = [load(file) for file in sorted(folder.rglob("*.rptrace"))]
    return {
        "processes": len(ends),
        "died": [f"{code}: {said[-1500:]}" for said, code in ends if code],
        "windows": [trace.rows("windows") for trace in traces],
        "kernels": [trace.rows("dispatches") for trace in traces],
        "attachments": [attachments(trace) for trace in traces],
        "notices": sorted({notice for trace in traces for notice in trace.run.notices}),
    }


def attachments(trace: Trace) -> int:
    """How often CUPTI was attached and recorded: it counts anew each time, and the tracer beyond that."""
    return (trace.table("dispatches")["correlation_id"] // 2**32).n_unique()


def run(program: str, seconds: float) -> None:
    """The program itself, until the time is over: each of its parts in a thread and on a stream of its own."""
    import torch

    end = time.monotonic() + seconds
    making = threading.Lock()  # torch makes one graph at a time
    turn = threading.Lock()

    def operators() -> None:
        matrix = torch.randn(128, 128, device="cuda")
        while time.monotonic() < end:
            for _ in range(IN_A_ROW):
                torch.relu(matrix).add_(1).softmax(-1)
            torch.cuda.current_stream().synchronize()

    def turns() -> None:
        """As forward and backward passes have threads of their own."""
        matrix = torch.randn(128, 128, device="cuda")
        while time.monotonic() < end:
            with turn:
                stop = time.monotonic() + 0.05
                while time.monotonic() < stop:
                    torch.relu(matrix).add_(1).softmax(-1)
                torch.cuda.current_stream().synchronize()
            time.sleep(0.001)  # the other's

    def graphs() -> None:
        number = torch.zeros(1, device="cuda")
        while time.monotonic() < end:
            graph = torch.cuda.CUDAGraph()
            with making, torch.cuda.graph(graph, capture_error_mode="thread_local"):
                for _ in range(10):
                    number.add_(1)
            again = min(time.monotonic() + 1, end)  # older and newer than an attachment
            while time.monotonic() < again:
                for _ in range(IN_A_ROW):
                    graph.replay()
                torch.cuda.current_stream().synchronize()

    def play(part: str) -> None:
        with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
            {"operators": operators, "graphs": graphs, "turns": turns}[part]()

    first, *others = PROGRAMS[program]
    threads = [threading.Thread(target=play, args=(part,)) for part in others]
    for thread in threads:
        thread.start()
    play(first)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
