"""Measures on a machine with an NVIDIA GPU what docs/measuring.md says of one: agreement with Triton's do_bench, A
against A of a plain CUDA program over 20 processes, and a small transformer eager, as a graph and compiled.

Usage: bench_h200.py OUT [PART ...], with torch, and rocm_perf with its dependencies importable. Each result is a line
of OUT/measure.jsonl as soon as it is there. A part that has not begun after 150 s is left out; all take about two
minutes."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rocm_perf.bench.here import benchmark
from rocm_perf.bench.processes import Repeats, measured
from rocm_perf.bench.results import result_of
from rocm_perf.bench.self_test import self_tests
from rocm_perf.bench.settings import Settings
from rocm_perf.bench.target import Target
from rocm_perf.cli.bench_report import result_lines

HERE = Path(__file__).parent
PLAIN = HERE.parent / "cost" / "plain.cu"
LATEST_S = 150.0
ROUNDS = 3
Answer = dict[str, Any]


def do_bench() -> Answer:
    """The medians of three functions by Triton's do_bench and by ours with cold caches, by turns."""
    import torch
    from triton.testing import do_bench as triton_bench

    square = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    long = torch.randn(1 << 26, device="cuda")
    functions: dict[str, Callable[[], object]] = {
        "matmul 4096 bf16": lambda: square @ square,
        "add 64 Mi floats": lambda: long + 1.0,
        "layer norm 4096": lambda: torch.nn.functional.layer_norm(square, (4096,)),
    }
    return {name: _by_turns(function, triton_bench) for name, function in functions.items()}


def _by_turns(function: Callable[[], object], triton_bench: Callable[..., float]) -> Answer:
    theirs, ours = [], []
    for _ in range(ROUNDS):
        theirs.append(float(triton_bench(function, warmup=50, rep=200, return_mode="median")))
        ours.append(benchmark(function, cold=True, iterations=200, budget_s=5)["median_ms"])
    median_theirs, median_ours = statistics.median(theirs), statistics.median(ours)
    return {
        "do_bench_ms": theirs,
        "benchmark_cold_ms": ours,
        "difference": median_ours / median_theirs - 1,
        "warm_ms": benchmark(function, iterations=200, budget_s=5)["median_ms"],
    }


def cuda_self_test() -> Answer:
    """A against A: 20 runs of a program that launches 50,000 kernels."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "plain")
        subprocess.run([nvcc, "-O3", "-arch=native", "-o", program, str(PLAIN)], check=True)
        return _measured(Target(command=(program, "50000")), Settings(), Repeats(count=20, warmup=1))


def eager() -> Answer:
    return _measured(Target(f"{HERE / 'targets.py'}:eager"), Settings(budget_s=5), Repeats(count=3))


def graph() -> Answer:
    return _measured(
        Target(f"{HERE / 'targets.py'}:eager"), Settings(budget_s=5, graph=True), Repeats(count=3)
    )


def compiled() -> Answer:
    return _measured(Target(f"{HERE / 'targets.py'}:compiled"), Settings(budget_s=5), Repeats(count=2))


def _measured(target: Target, settings: Settings, repeats: Repeats) -> Answer:
    (processes,) = measured([target], settings, repeats)
    result = result_of(target, processes)
    lines = result_lines(result) if result.times_ms else []
    errors = [one.error for one in processes if one.error]
    tests = [asdict(test) for test in self_tests(result.times_ms)] if result.times_ms else []
    return {"lines": lines, "errors": errors, "self_tests": tests, "result": result.to_json()}


PARTS: tuple[Callable[[], Answer], ...] = (do_bench, cuda_self_test, eager, graph, compiled)


def main(words: Sequence[str]) -> int:
    out, chosen = Path(words[0]), words[1:]
    out.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    with (out / "measure.jsonl").open("a", encoding="utf-8") as file:
        for part in PARTS:
            if chosen and part.__name__ not in chosen:
                continue
            answer = _answer(part) if time.monotonic() - begun < LATEST_S else {"error": "left out: too late"}
            line = {"part": part.__name__, "seconds": round(time.monotonic() - begun, 1), **answer}
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(json.dumps({key: value for key, value in line.items() if key != "result"}), flush=True)
    return 0


def _answer(part: Callable[[], Answer]) -> Answer:
    try:
        return part()
    except Exception as error:  # noqa: BLE001  (the other parts go on)
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
