"""How long simulating millions of dispatches and writing them as a rocpd database takes, step by step.

Each round is a process of its own: one stream, and a synchronisation after every thousand launches.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.measure import Case, Sample, machine, run

BATCH = 1000
WORKLOAD = """
name = "benchmark"
[kernel.gemm]
duration_us = 3
vgprs = 128
[kernel.softmax]
duration_us = 2
lds_bytes = 4096
[[thread]]
steps = [{{repeat = {batches}, steps = [
    {{repeat = {pairs}, steps = [{{launch = "gemm"}}, {{launch = "softmax"}}]}}, {{sync = "stream"}},
]}}]
"""


def child(dispatches: int, folder: Path) -> None:
    """Simulate, record and write once; write the times to a file."""
    from rocm_perf.render.formats import rocpd
    from rocm_perf.sim.engine import simulate
    from rocm_perf.sim.gpu import find_gpu
    from rocm_perf.sim.record import record
    from rocm_perf.sim.workload import read_workload

    (folder / "workload.toml").write_text(WORKLOAD.format(batches=dispatches // BATCH, pairs=BATCH // 2))
    instants = [_now()]
    simulated = simulate(read_workload(folder / "workload.toml"), find_gpu("sim:MI300X"))
    instants.append(_now())
    trace = record(simulated)
    del simulated
    instants.append(_now())
    rocpd.write(trace, folder / "results.db")
    instants.append(_now())
    seconds = {
        step: {"wall_s": after[0] - before[0], "cpu_s": after[1] - before[1]}
        for step, before, after in zip(
            ("simulate", "record", "write"), instants[:-1], instants[1:], strict=True
        )
    }
    rows = {"dispatches": trace.rows("dispatches"), "api_calls": trace.rows("api_calls")}
    size = (folder / "results.db").stat().st_size
    (folder / "times.json").write_text(json.dumps({"steps": seconds, "rows": rows, "file_bytes": size}))


def _now() -> tuple[float, float]:
    """Wall and processor time: the second is what the first would be on an idle machine."""
    return time.perf_counter(), time.process_time()


def measured(dispatches: int) -> dict[str, object]:
    """The times, sizes and peak memory of one round."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, __file__, "--dispatches", str(dispatches), "--child", name]
        sample = run(Case("sim", command))
        if sample.exit_code:
            raise SystemExit(sample.error)
        return {**json.loads((folder / "times.json").read_text()), **_of_process(sample)}


def _of_process(sample: Sample) -> dict[str, object]:
    return {"wall_s": sample.wall_s, "cpu_s": sample.cpu_s, "peak_rss_bytes": sample.peak_rss_bytes}


def line(results: dict[str, object]) -> str:
    """One round as a line of text."""
    spent_by_step, rows = results["steps"], results["rows"]
    assert isinstance(spent_by_step, dict)
    assert isinstance(rows, dict)
    steps = ", ".join(
        f"{step} {spent['wall_s']:.1f} s (cpu {spent['cpu_s']:.1f})" for step, spent in spent_by_step.items()
    )
    peak, size = (float(str(results[name])) / 1e9 for name in ("peak_rss_bytes", "file_bytes"))
    whole = f"{results['wall_s']:.1f} s (cpu {results['cpu_s']:.1f}) in all, peak {peak:.2f} GB, file {size:.2f} GB"
    return f"{rows['dispatches']:,} dispatches, {rows['api_calls']:,} calls: {steps}; {whole}"


def main() -> None:
    """Measure some rounds and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dispatches", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.dispatches, options.child)
        return
    rounds = [measured(options.dispatches) for _ in range(options.rounds)]
    if options.json:
        print(json.dumps({"machine": machine(), "rounds": rounds}, indent=2))
    else:
        print("\n".join(map(line, rounds)))


if __name__ == "__main__":
    main()
