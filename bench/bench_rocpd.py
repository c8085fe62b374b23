"""How long reading a rocpd database takes, compared with a bare read of the same columns by the same driver.

Each reading runs in a process of its own, the two alternating, so neither profits from the other.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

EVENT = ("id", "category_id", "stack_id")
SPAN = ("pid", "tid", "start", "end", "event_id")
REGION = (*SPAN, "name_id")
DISPATCH = (
    *(*SPAN, "agent_id", "kernel_id", "dispatch_id", "queue_id", "stream_id", "private_segment_size"),
    *("group_segment_size", *(f"{size}_size_{axis}" for size in ("grid", "workgroup") for axis in "xyz")),
)
TABLES = {"rocpd_kernel_dispatch": DISPATCH, "rocpd_region": REGION, "rocpd_event": EVENT}


def read_bare(file: Path) -> int:
    """Read the columns with the driver alone, one table after the other; returns the number of rows."""
    import sqlite3

    import polars as pl
    from adbc_driver_sqlite import dbapi

    with sqlite3.connect(file) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    frames = []
    for prefix, columns in TABLES.items():
        table = next(name for name in names if name.startswith(prefix))
        selected = ", ".join(f'"{column}"' for column in columns)
        with dbapi.connect(f"file:{file}?mode=ro") as connection, connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": "65536"})
            cursor.execute(f'SELECT {selected} FROM "{table}"')
            frames.append(pl.DataFrame(cursor.fetch_arrow()))
    return sum(frame.height for frame in frames)


def read_ours(file: Path) -> int:
    """Read the database as a user's file is read; returns the number of rows."""
    from rocm_perf.ingest.io.source import Source
    from rocm_perf.ingest.rocpd import database as rocpd

    return sum(table.height for table in rocpd.read(Source(file)).tables.values())


DATA = Path(__file__).parent / "data" / "rocpd-2000000.db"
READERS = {"bare": read_bare, "ours": read_ours}


def child(reader: str, file: Path) -> None:
    """Print what one reading cost."""
    import adbc_driver_sqlite.dbapi
    import polars as pl

    import rocm_perf.ingest.rocpd.database  # noqa: F401

    del adbc_driver_sqlite, pl  # imported before the clock starts, for both readers
    begin = time.perf_counter()
    rows = READERS[reader](file)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds, "rows": rows, "peak_bytes": peak}))


def measure(file: Path, rounds: int) -> dict[str, list[dict[str, float]]]:
    """The costs of each reader over all rounds, with the readers alternating."""
    costs: dict[str, list[dict[str, float]]] = {name: [] for name in READERS}
    for number in range(rounds):
        for name in sorted(READERS, reverse=bool(number % 2)):
            command = [sys.executable, __file__, str(file), "--child", name]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            costs[name].append(json.loads(done.stdout))
    return costs


def summary(costs: dict[str, list[dict[str, float]]]) -> dict[str, object]:
    """Medians, their ratio and peak memory, with the runs they come from."""
    medians = {name: statistics.median(run["seconds"] for run in runs) for name, runs in costs.items()}
    return {
        "median_seconds": medians,
        "ratio": medians["ours"] / medians["bare"],
        "peak_bytes": {name: max(run["peak_bytes"] for run in runs) for name, runs in costs.items()},
        "runs": costs,
    }


def table(costs: dict[str, list[dict[str, float]]]) -> str:
    """One line per reader."""
    lines = [f"{'reader':8}{'median s':>10}{'lowest':>9}{'highest':>9}{'rows':>12}{'peak MiB':>10}"]
    for name, runs in costs.items():
        seconds = [run["seconds"] for run in runs]
        peak = max(run["peak_bytes"] for run in runs) / 2**20
        spread = f"{statistics.median(seconds):>10.2f}{min(seconds):>9.2f}{max(seconds):>9.2f}"
        lines.append(f"{name:8}{spread}{runs[0]['rows']:>12,.0f}{peak:>10,.0f}")
    return "\n".join(lines)


def main() -> None:
    """Measure both readers on a database, which is made if it is missing, and print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=DATA, help="a database of make_rocpd.py")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--child", choices=sorted(READERS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.file)
        return
    if options.file == DATA and not DATA.exists():
        DATA.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, str(Path(__file__).with_name("make_rocpd.py")), "-o", str(DATA)], check=True
        )
    costs = measure(options.file, options.rounds)
    result = summary(costs)
    print(json.dumps(result, indent=2) if options.json else f"{table(costs)}\nratio {result['ratio']:.2f}")


if __name__ == "__main__":
    main()
