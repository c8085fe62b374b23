"""`rocm-perf analyze --cluster local` over more and more ranks: wall time, peak memory of workers and of the process
that adds up; what 10,000 contributions take to add up; and HolisticTraceAnalysis beside it on 8 torch traces.

The ranks are made from one simulated rank of about 40,000 kernels (make_ranks.py).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.cluster_hta import EVENTS, compared, hta_table
from bench.measure import machine, ours

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "bench" / "data" / "ranks"
SIZES = (16, 64, 256)
WORKERS, WORKER_MEMORY = 2, "1G"
PLANNED = 10_000
_LOOK_S = 0.5


def ranks_of(count: int, folder: Path) -> None:
    """Make the recordings that are not there yet, in a child: this process has to stay small."""
    command = [sys.executable, str(ROOT / "bench" / "make_ranks.py"), str(folder), "--ranks", str(count)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env=_environment())


def measured(count: int, ranks: Path) -> dict[str, Any]:
    """One analysis of the first `count` ranks: its times, and the peak memory of its processes."""
    with tempfile.TemporaryDirectory() as name:
        job = Path(name)
        files = [ranks / f"rank{number}_results.db" for number in range(count)]
        for file in files:
            (job / file.name).symlink_to(file.resolve())
        options = (
            "--cluster",
            "local",
            "--workers",
            str(WORKERS),
            "--worker-memory",
            WORKER_MEMORY,
            "--json",
        )
        command = list(ours("cluster", "analyze", str(job), *options).command)
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with (job / "answer").open("wb") as answer:
            process = subprocess.Popen(command, stdout=answer, env=_environment())
            peaks = _watched(process)
        wall_s = time.perf_counter() - begun
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if process.returncode:
            raise SystemExit(f"{count} ranks: exit code {process.returncode}")
        document = json.loads((job / "answer").read_bytes())["runs"][0]
    return {
        "ranks": count,
        "stored_bytes": sum(file.stat().st_size for file in files),
        "dispatches": document["hotspots"]["dispatches"],
        "wall_s": wall_s,
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "client_peak_bytes": peaks.pop(process.pid, 0),
        "worker_peak_bytes": max(peaks.values(), default=0),
        "load": os.getloadavg()[0],
    }


def _watched(process: subprocess.Popen[bytes]) -> dict[int, int]:
    """The peak memory of the process and of each of its children, to the end of it."""
    peaks: dict[int, int] = {}
    while process.poll() is None:
        for pid in (process.pid, *_descendants(process.pid)):
            peaks[pid] = max(peaks.get(pid, 0), _peak_bytes(pid))
        time.sleep(_LOOK_S)
    return peaks


def _descendants(pid: int) -> list[int]:
    """All processes below one; each thread has children of its own."""
    children: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children += map(int, file.read_text().split())
        except OSError:  # it has ended
            continue
    return children + [below for child in children for below in _descendants(child)]


def _peak_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM")), 0)


def added_up(count: int, file: Path) -> None:
    """Add the contribution of one rank up `count` times, each as another rank, and make the document; print how long it
    took and what it needed."""
    import polars as pl

    from rocm_perf.analysis.reduction.contribution import contribution
    from rocm_perf.analysis.reduction.document import reduced
    from rocm_perf.analysis.reduction.tables import Tables, added, machine_number
    from rocm_perf.analysis.reduction.tree import Tree
    from rocm_perf.fleet.cluster.clocks import on_one_clock
    from rocm_perf.ingest.load import load

    one = added([contribution(load(file), 0, file.name)])
    size = sum(table.estimated_size() for table in one.values())
    rows = {name: table.height for name, table in one.items()}

    def as_rank(place: int) -> dict[str, pl.DataFrame]:
        changes = {
            "node": machine_number(place, pl.col("node")),
            "place": pl.lit(place, pl.Int64),
            "host": pl.lit(f"node{place // 8:04d}"),
            "rank": pl.lit(place, pl.Int32),
            "pid": pl.lit(4000 + place, pl.Int64),
        }
        return {
            name: table.with_columns(
                change.alias(column) for column, change in changes.items() if column in table.columns
            )
            for name, table in one.items()
        }

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    begun = time.perf_counter()
    tree: Tree[Tables] = Tree(added)
    for place in range(count):
        tree.add(as_rank(place))
    whole = tree.total()
    summed = time.perf_counter()
    document = reduced(whole, "job", aligned=on_one_clock)
    done = time.perf_counter()
    report = {
        "ranks": count,
        "contribution_bytes": size,
        "collectives": rows["collectives"],
        "sum_bytes": sum(table.estimated_size() for table in whole.values()),
        "adding_s": summed - begun,
        "document_s": done - summed,
        "peak_before_bytes": before,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
        "gpus": len(document.devices),
    }
    print(json.dumps(report))


def planned(counts: list[int], ranks: Path) -> list[dict[str, Any]]:
    """What adding up takes, each count in a process of its own."""
    command = [sys.executable, __file__, "--folder", str(ranks), "--add-up"]
    outputs = [
        subprocess.run([*command, str(count)], check=True, capture_output=True, text=True, env=_environment())
        for count in counts
    ]
    return [json.loads(done.stdout) for done in outputs]


def table(sizes: list[dict[str, Any]]) -> str:
    """One line for each number of ranks."""
    head = (
        "ranks",
        "dispatches",
        "on disk",
        "wall",
        "processor",
        "ranks/s",
        "largest worker",
        "adding process",
        "load",
    )
    return _markdown(head, map(_measured_cells, sizes))


def _measured_cells(size: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"{size['ranks']:,}",
        f"{size['dispatches']:,}",
        f"{size['stored_bytes'] / 1e9:.2f} GB",
        f"{size['wall_s']:.0f} s",
        f"{size['cpu_s']:.0f} s",
        f"{size['ranks'] / size['wall_s']:.2f}",
        f"{size['worker_peak_bytes'] / 1e6:.0f} MB",
        f"{size['client_peak_bytes'] / 1e6:.0f} MB",
        f"{size['load']:.1f}",
    )


def added_table(sizes: list[dict[str, Any]]) -> str:
    """One line for each number of contributions that were added up."""
    head = ("ranks", "one contribution", "all of them", "adding up", "document", "peak memory")
    return _markdown(head, map(_added_cells, sizes))


def _added_cells(size: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"{size['ranks']:,}",
        f"{size['contribution_bytes'] / 1e3:.1f} kB",
        f"{size['sum_bytes'] / 1e6:.1f} MB",
        f"{size['adding_s']:.1f} s",
        f"{size['document_s']:.1f} s",
        f"{size['peak_bytes'] / 1e6:.0f} MB",
    )


def _markdown(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (f"| {' | '.join(cells)} |" for cells in (head, *rows))
    first, *others = lines
    return "\n".join([first, "|---:" * len(head) + "|", *others])


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--planned", type=int, nargs="*", default=[100, 1000, PLANNED])
    parser.add_argument("--folder", type=Path, default=DATA, help="where the recordings are kept")
    parser.add_argument("--with-hta", action="store_true", help="also HTA on 8 torch traces")
    parser.add_argument("--events", type=int, nargs="*", default=list(EVENTS), help="of each of these traces")
    parser.add_argument("--rounds", type=int, default=3, help="of the comparison with HTA")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there")
    parser.add_argument("--add-up", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.add_up:
        added_up(options.add_up, options.folder / "rank0_results.db")
        return
    ranks_of(max([1, *options.ranks]), options.folder)
    sizes = [measured(count, options.folder) for count in options.ranks]
    sums = planned(options.planned, options.folder)
    torch = [compared(events, options.rounds) for events in options.events] if options.with_hta else []
    print(table(sizes), added_table(sums), *map(hta_table, torch), sep="\n\n")
    if options.json:
        facts = {"machine": machine(), "sizes": sizes, "planned": sums, "torch": torch}
        options.json.write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
