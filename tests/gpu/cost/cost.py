"""What recording costs on a machine with an NVIDIA GPU: host time per launch alone, under bare CUPTI (the same
activities, an empty consumer), under our tracer and under torch.profiler; bytes per kernel; and how soon the verdict
comes. Every result is in OUT_DIR at once.

    python tests/gpu/cost/cost.py OUT_DIR [--rounds N] [--seconds S] [--part costs|verdict|long]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rocm_perf.backends.base import Wish
from rocm_perf.backends.native_build import NATIVE
from rocm_perf.backends.nvidia.build import includes
from rocm_perf.backends.nvidia.cupti import CuptiProfiler
from rocm_perf.backends.nvidia.probe import CUPTI, CUPTI_HEADER
from rocm_perf.backends.probe import probe_machine
from rocm_perf.ingest.load import load

HERE = Path(__file__).parent
TRACE = Wish(domains=("kernel", "hip", "copy", "marker"))
MACHINE = probe_machine()
STEPS, LAUNCHES = "400", "200000"
ROCM_PERF = (sys.executable, "-m", "rocm_perf.cli.main")
ON_TWO_CORES = ("taskset", "-c", "0,1")


class Log:
    """Results, one line each, on disk before the next run begins."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, **facts: Any) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(facts) + "\n")
        print(json.dumps(facts), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=28, help="how long the program of the verdict runs")
    parser.add_argument("--part", choices=("costs", "verdict", "long"), action="append")
    args = parser.parse_args()
    log, asked = Log(args.out / "cost.jsonl"), args.part or ("costs", "verdict", "long")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if "costs" in asked:
            costs(work, log, args.rounds)
        if "verdict" in asked:
            verdict(work, log, args.seconds)
        if "long" in asked:
            two_minutes(work, log)


def costs(work: Path, log: Log, rounds: int) -> None:
    CuptiProfiler().prepare(MACHINE)
    log.add(launch_cost_ns=CuptiProfiler().launch_cost_ns(MACHINE))
    plain, bare = build_plain(work), build_bare(work)
    ours = CuptiProfiler().command(TRACE, (), work / "traced", MACHINE).environment
    domains = {"ROCM_PERF_CUPTI_DOMAINS": ours["ROCM_PERF_CUPTI_DOMAINS"]}
    injected = {"CUDA_INJECTION64_PATH": str(bare), "NVTX_INJECTION64_PATH": str(bare)}
    ways = {"alone": {}, "bare": {**injected, **domains}, "ours": ours}
    decode = (sys.executable, str(HERE / "decode.py"), STEPS)
    runs = [("plain", way, (str(plain), LAUNCHES), ways[way]) for way in ways]
    runs += [("decode", way, decode, ways[way]) for way in ways]
    runs.append(("decode", "torch.profiler", (*decode, "--torch-profiler"), {}))
    results: dict[str, list[float]] = {}
    for number in range(rounds):
        for program, way, command, added in runs[number % len(runs) :] + runs[: number % len(runs)]:
            done = timed(command, added)
            us = 1e6 * done["seconds"] / done["launches"]
            results.setdefault(f"{program}, {way}", []).append(us)
            log.add(round=number, program=program, way=way, us_per_launch=round(us, 3))
    medians = {name: round(statistics.median(values), 3) for name, values in results.items()}
    log.add(medians_us_per_launch=medians, rounds=rounds)
    log.add(bytes_per_kernel=bytes_per_kernel(work / "traced"))


def timed(command: tuple[str, ...], added: dict[str, str]) -> dict[str, float]:
    done = subprocess.run(
        command, env={**os.environ, **added}, capture_output=True, text=True, check=True, timeout=120
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def bytes_per_kernel(folder: Path) -> dict[str, float]:
    """Of the smallest and the largest recording: bytes on disk for a kernel with its launch."""
    files = sorted(folder.rglob("*.rptrace"), key=lambda file: file.stat().st_size)
    sizes = {}
    for file in (files[0], files[-1]):
        trace = load(file)
        name = f"{trace.rows('dispatches')} kernels, {trace.rows('api_calls')} calls"
        sizes[name] = round(file.stat().st_size / trace.rows("dispatches"), 2)
        assert not trace.run.losses, trace.run.losses
    return sizes


def verdict(work: Path, log: Log, seconds: float) -> None:
    """How long after the program's end the verdict is there, with the program's own exit in between; then the verdict
    alone, on what was recorded and on a bundle of it. All of it on two cores."""
    command = [*ON_TWO_CORES, *ROCM_PERF, "profile", "--json", "-d", str(work / "runs"), "--"]
    app = [sys.executable, str(HERE / "decode.py"), "1", "--seconds", str(seconds)]
    begun = time.time()
    process = subprocess.Popen([*command, *app], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    report, printed = process.communicate(timeout=400)
    ended = time.time()
    own = json.loads(next(line for line in printed.splitlines() if line.startswith('{"launches"')))
    document = json.loads(report)
    log.add(
        verdict_after_s=round(ended - own["ended"], 2),
        whole_s=round(ended - begun, 2),
        launches=own["launches"],
        bytes=sum(file.stat().st_size for file in (work / "runs").rglob("*.rptrace")),
        first=[finding["title"] for run in document.get("runs", []) for finding in run.get("findings", [])][
            :1
        ],
        exit_code=process.returncode,
    )
    run, bundle = next((work / "runs").iterdir()), work / "bundle"
    alone(log, "analyze the recording", "analyze", str(run), "--json")
    alone(log, "export a bundle", "export", str(run), "-o", str(bundle))
    alone(log, "analyze the bundle", "analyze", str(bundle), "--json")


def two_minutes(work: Path, log: Log) -> None:
    """A program of two minutes, recorded and not analysed."""
    app = [sys.executable, str(HERE / "decode.py"), "1", "--seconds", "120"]
    command = [*ROCM_PERF, "profile", "--no-analyze", "-d", str(work / "long"), "--"]
    done = subprocess.run([*command, *app], capture_output=True, text=True, timeout=200, check=True)
    own = json.loads(next(line for line in done.stdout.splitlines() if line.startswith('{"launches"')))
    size = sum(file.stat().st_size for file in (work / "long").rglob("*.rptrace"))
    log.add(two_minutes=own, bytes=size, bytes_per_kernel=round(size / own["launches"], 2))


def alone(log: Log, what: str, *words: str) -> None:
    """One command on two cores: its time, and its largest memory."""
    measured = (
        "import json, resource, subprocess, sys, time; begun = time.time();"
        "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode;"
        "most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss;"
        "print(json.dumps({'seconds': time.time() - begun, 'most_gb': most / 1e6, 'exit_code': code}))"
    )
    done = subprocess.run(
        [*ON_TWO_CORES, sys.executable, "-c", measured, *ROCM_PERF, *words],
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    log.add(what=what, **json.loads(done.stdout))


def build_plain(work: Path) -> Path:
    program = work / "plain"
    subprocess.run(["nvcc", "-O2", "-o", program, HERE / "plain.cu"], check=True)
    return program


def build_bare(work: Path) -> Path:
    library, cupti = work / "libbare.so", Path(MACHINE.tools[CUPTI].path)
    headers = [
        word for folder in includes(Path(MACHINE.tools[CUPTI_HEADER].path)) for word in ("-I", str(folder))
    ]
    names = ("cupti/activities.cpp", "cupti/calls.cpp", "cupti/nvtx_injection.cpp", "common/environment.cpp")
    parts = [NATIVE / name for name in names]
    flags = ["-std=c++17", "-O2", "-shared", "-fPIC", "-I", str(NATIVE), *headers]
    linked = [str(cupti), f"-Wl,-rpath,{cupti.parent}"]
    subprocess.run(["g++", *flags, HERE / "bare.cpp", *parts, *linked, "-o", library], check=True)
    return library


if __name__ == "__main__":
    main()
