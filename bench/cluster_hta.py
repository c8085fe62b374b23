"""Torch traces of 8 ranks, by `rocm-perf analyze --cluster local` and by HolisticTraceAnalysis: interleaved, each in
processes of its own, over the same files."""

from __future__ import annotations

import gzip
import json
import re
import statistics
from pathlib import Path
from typing import Any

from bench.bench_torch import BENCH, DATA, HTA, OURS, hta_python, trace_of
from bench.measure import Case, Result, analyze, interleaved

EVENTS = 100_000  # of each rank
RANKS = 8
_RANK = re.compile(rb'("distributedInfo":\s*\{[^}]*?"rank":\s*)\d+')


def torch_ranks() -> Path:
    """A folder with one trace per rank, made on first use from one recorded trace."""
    folder = DATA / f"torch-ranks-{EVENTS}"
    if not folder.is_dir():
        text = gzip.decompress(trace_of(EVENTS).read_bytes())
        folder.mkdir(parents=True)
        for rank in range(RANKS):
            content = _RANK.sub(rb"\g<1>%d" % rank, text, count=1)
            (folder / f"rank-{rank}.json.gz").write_bytes(gzip.compress(content, compresslevel=1))
    return folder


def compared(rounds: int) -> dict[str, Any]:
    """Every run of both, and how each analysis of HTA went."""
    folder, report = torch_ranks(), DATA / "hta-ranks.json"
    command = [str(hta_python()), str(BENCH / "peers" / "hta_run.py"), str(folder), "--report", str(report)]
    cases = [
        analyze(OURS, folder, "--cluster", "local", "--workers", "2", "--fresh"),
        Case(HTA, command),
    ]
    results = interleaved(cases, rounds)
    failed = [result.name for result in results if result.failed]
    if failed:
        raise SystemExit(f"{', '.join(failed)} failed")
    return {"runs": [_run(result) for result in results], "hta": json.loads(report.read_text())}


def _run(result: Result) -> dict[str, Any]:
    walls = [sample.wall_s for sample in result.samples]
    return {"name": result.name, "wall_s": walls, "cpu_s": [sample.cpu_s for sample in result.samples]}


def hta_table(torch: dict[str, Any]) -> str:
    """Medians of both, their ratio, and what HTA did in its time."""
    medians = {run["name"]: statistics.median(run["wall_s"]) for run in torch["runs"]}
    processor = {run["name"]: statistics.median(run["cpu_s"]) for run in torch["runs"]}
    lines = [
        f"| {RANKS} torch traces of {EVENTS:,} events | runs | wall | processor |",
        "|---|---:|---:|---:|",
    ]
    lines += [
        f"| {run['name']} | {len(run['wall_s'])} | {medians[run['name']]:.1f} s | {processor[run['name']]:.1f} s |"
        for run in torch["runs"]
    ]
    ratio = (
        f"| {HTA} / {OURS} | | {medians[HTA] / medians[OURS]:.1f} | {processor[HTA] / processor[OURS]:.1f} |"
    )
    steps = [
        f"- {HTA} {name}: {step['seconds']:.1f} s"
        + (f", crashed: {step['error']}" if "error" in step else "")
        for name, step in torch["hta"]["steps"].items()
    ]
    return "\n".join([*lines, ratio, "", *steps])
