"""The table of units and its causes for many kernels with many counters, beside reading the same rows with polars."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

from rocm_perf.analysis.limits.rules import causes
from rocm_perf.analysis.limits.table import counted, launched, table_metrics, unit_table
from rocm_perf.analysis.roofline.counted import metric_tables
from rocm_perf.analysis.roofline.devices import devices
from rocm_perf.arch import catalog
from rocm_perf.arch.counters import counters
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace

KERNELS = 1_000
COUNTERS = 500
ROUNDS = 3
GPU = "AMD Instinct MI300X"
_NS = 100_000


def main() -> None:
    """Print the processor time that it takes, and how many times that of reading the counters."""
    recorded = synthetic()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "counters.csv")
        recorded.table("counters").write_csv(file)
        read = _best(lambda: pl.read_csv(file))
    known = devices(recorded)
    tables = _best(lambda: metric_tables(recorded, known, table_metrics()))
    whole = _best(lambda: _all_causes(recorded))
    rows = recorded.table("counters").height
    print(f"{KERNELS:,} kernels with {COUNTERS} counters, {rows:,} rows:")
    print(f"  reading the rows as CSV with polars   {read:6.2f} s")
    print(f"  their metrics                         {tables:6.2f} s")
    print(f"  metrics, tables of units and causes   {whole:6.2f} s, {whole / read:.1f}x of reading")


def synthetic() -> Trace:
    """Return one dispatch of each kernel with every counter of the chip, and as many more as are missing."""
    gpu = catalog.find_gpu(GPU)
    real = sorted(counters(gpu.gfx))
    used = [name for name in real if name.startswith(("SQ", "GRBM", "TC", "TA", "SPI"))][:COUNTERS]
    names = [*used, *(f"MORE_{number}" for number in range(COUNTERS - len(used)))]
    dispatches = pl.DataFrame({"dispatch_id": range(1, KERNELS + 1)}).with_columns(
        pl.format("kernel_{}(float*)", "dispatch_id").alias("kernel"),
        pl.lit(1).alias("agent_id"),
        (pl.col("dispatch_id") * 2 * _NS).alias("start_ns"),
        (pl.col("dispatch_id") * 2 * _NS + _NS).alias("end_ns"),
        *(pl.lit(size).alias(name) for name, size in _SHAPE.items()),
    )
    values = dispatches.select("dispatch_id", "agent_id").join(pl.DataFrame({"counter": names}), how="cross")
    values = values.with_columns(
        (pl.col("counter").hash(7) % 1_000_000 + pl.col("dispatch_id")).cast(pl.Float64).alias("value")
    )
    agents = pl.DataFrame(
        {"agent_id": [1], "kind": ["GPU"], "name": [gpu.name], "gfx": [gpu.gfx], "cu_count": [304]}
    )
    frames = {"dispatches": dispatches, "counters": values, "agents": agents}
    return Trace({name: schema.conform(name, frame) for name, frame in frames.items()})


_SHAPE = {
    **{f"grid_{axis}": size for axis, size in (("x", 1 << 20), ("y", 1), ("z", 1))},
    **{f"workgroup_{axis}": size for axis, size in (("x", 256), ("y", 1), ("z", 1))},
    "vgprs": 64,
    "agprs": 0,
    "sgprs": 32,
    "lds_bytes": 0,
    "scratch_bytes": 0,
}


def _all_causes(recorded: Trace) -> int:
    known = devices(recorded)
    values = counted(metric_tables(recorded, known, table_metrics()), known)
    launches = launched(recorded, known)
    gfx = known[0].gfx
    return sum(
        len(causes(unit_table(key[1], found, None, gfx, launches.get(key)))) for key, found in values.items()
    )


def _best(run: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        run()
        times.append(time.process_time() - started)
    return min(times)


if __name__ == "__main__":
    main()
