"""Torch traces of 8 ranks, by `rocm-perf analyze` with and without `--cluster local` and by HolisticTraceAnalysis:
interleaved, each in processes of its own, over the same files."""

from __future__ import annotations

import gzip
import json
import os
import re
import statistics
from pathlib import Path
from typing import Any

from bench.bench_torch import BENCH, DATA, HTA, OURS, hta_python, trace_of
from bench.measure import Case, Result, analyze, interleaved

EVENTS = (100_000, 400_000)  # of each rank: a short trace, and one of a few training steps
RANKS = 8
ALONE = "rocm-perf, one process"  # which also brings all ranks onto one clock, and finds the critical path across them
_RANK = re.compile(rb'("distributedInfo":\s*\{[^}]*?"rank":\s*)\d+')


def torch_ranks(events: int) -> Path:
    """A folder with one trace of so many events per rank, made on first use from one recorded trace."""
    folder = DATA / f"torch-ranks-{events}"
    if not folder.is_dir():
        text = gzip.decompress(trace_of(events).read_bytes())
        folder.mkdir(parents=True)
        for rank in range(RANKS):
            content = _RANK.sub(rb"\g<1>%d" % rank, text, count=1)
            (folder / f"rank-{rank}.json.gz").write_bytes(gzip.compress(content, compresslevel=1))
    return folder


def compared(events: int, rounds: int) -> dict[str, Any]:
    """Every run of both over traces of so many events, and how each analysis of HTA went."""
    folder, report = torch_ranks(events), DATA / "hta-ranks.json"
    command = [str(hta_python()), str(BENCH / "peers" / "hta_run.py"), str(folder), "--report", str(report)]
    cases = [
        analyze(OURS, folder, "--cluster", "local", "--workers", "2", "--fresh"),
        analyze(ALONE, folder, "--fresh"),
        Case(HTA, command),
    ]
    load = os.getloadavg()[0]
    results = interleaved(cases, rounds)
    failed = [result.name for result in results if result.failed]
    if failed:
        raise SystemExit(f"{', '.join(failed)} failed")
    return {
        "events": events,
        "load": (load, os.getloadavg()[0]),
        "runs": [_run(result) for result in results],
        "hta": json.loads(report.read_text()),
    }


def _run(result: Result) -> dict[str, Any]:
    walls = [sample.wall_s for sample in result.samples]
    return {"name": result.name, "wall_s": walls, "cpu_s": [sample.cpu_s for sample in result.samples]}


def hta_table(torch: dict[str, Any]) -> str:
    """Medians of both, their ratio, and what HTA did in its time."""
    medians = {run["name"]: statistics.median(run["wall_s"]) for run in torch["runs"]}
    processor = {run["name"]: statistics.median(run["cpu_s"]) for run in torch["runs"]}
    before, after = torch["load"]
    lines = [
        f"| {RANKS} torch traces of {torch['events']:,} events, load {before:.1f} to {after:.1f} "
        "| runs | wall | processor |",
        "|---|---:|---:|---:|",
    ]
    lines += [
        f"| {run['name']} | {len(run['wall_s'])} | {medians[run['name']]:.1f} s | {processor[run['name']]:.1f} s |"
        for run in torch["runs"]
    ]
    ratios = [
        f"| {HTA} / {ours} | | {medians[HTA] / medians[ours]:.1f} | {processor[HTA] / processor[ours]:.1f} |"
        for ours in (OURS, ALONE)
    ]
    steps = [
        f"- {HTA} {name}: {step['seconds']:.1f} s"
        + (f", crashed: {step['error']}" if "error" in step else "")
        for name, step in torch["hta"]["steps"].items()
    ]
    return "\n".join([*lines, *ratios, "", *steps])
