"""What a rocpd database says about the run itself: machines, processes, agents, kernels and counters."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.ingest import agents
from rocm_perf.ingest.rocpd.tables import Run, stated


class _Bank(msgspec.Struct):
    size_in_bytes: int | None = None


class _Properties(msgspec.Struct):
    """The fields of an agent's JSON that are read."""

    gfx_target_version: int | None = None
    cu_count: int | None = None
    simd_count: int | None = None
    num_xcc: int | None = None
    wave_front_size: int | None = None
    max_waves_per_simd: int | None = None
    lds_size_in_kb: int | None = None
    local_mem_size: int | None = None
    max_engine_clk_fcompute: float | None = None
    mem_banks: list[_Bank] = []


def tables(runs: list[Run]) -> dict[str, pl.DataFrame]:
    """Agents, kernels, counters and processes; machines if there are several."""
    numbers = node_numbers(runs)
    readers = {"agents": _agents, "kernels": _kernels, "counter_info": _counters, "processes": _processes}
    frames = {
        name: pl.concat(
            [
                make(run).with_columns(node=pl.lit(node, pl.Int32))
                for run, node in zip(runs, numbers, strict=True)
            ]
        )
        for name, make in readers.items()
    }
    frames["agents"] = frames["agents"].unique(["node", "agent_id"], keep="first", maintain_order=True)
    frames["counter_info"] = frames["counter_info"].drop("node").unique(maintain_order=True)
    if len(set(numbers)) > 1:
        machines = pl.concat(
            [
                _machine(run).with_columns(node=pl.lit(node, pl.Int32))
                for run, node in zip(runs, numbers, strict=True)
            ]
        )
        frames["nodes"] = machines.unique("node", keep="first", maintain_order=True)
    return frames


def node_numbers(runs: list[Run]) -> list[int]:
    """The number of the machine that each process ran on, from 0."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(_identity(run), len(numbers)) for run in runs]


def facts(runs: list[Run]) -> dict[str, object]:
    """Host, system, process and command, each if it is the same throughout the file."""
    machines = pl.concat([_machine(run) for run in runs])
    processes = pl.concat([run.processes for run in runs])
    return {
        "host": _single(machines["host"]),
        "os": _single(machines["os"]),
        "pid": _single(processes["pid"]),
        "command": _single(processes["command"]),
    }


def _single(column: pl.Series) -> object:
    values = column.drop_nulls().unique()
    return values[0] if values.len() == 1 else None


def _identity(run: Run) -> object:
    rows = run.frame("info_node", ["id"], texts=["machine_id"])
    return rows.row(0) if rows.height else None


def _machine(run: Run) -> pl.DataFrame:
    table = run.frame("info_node", texts=["hostname", "system_name", "release"])
    system = pl.concat_str(stated("system_name"), stated("release"), separator=" ", ignore_nulls=True)
    return table.select(host=stated("hostname"), os=pl.when(system != "").then(system), clock=pl.lit("boot"))


def _processes(run: Run) -> pl.DataFrame:
    return run.processes.select(
        "pid",
        "ppid",
        "command",
        pl.coalesce("start", "init").alias("start_ns"),
        pl.coalesce("end", "fini").alias("end_ns"),
    )


def _kernels(run: Run) -> pl.DataFrame:
    table = run.symbols.frame.drop_nulls("kernel")
    objects = run.frame("info_code_object", ["id"], texts=["uri"]).unique("id", keep="first")
    sizes = ("kernarg_bytes", "lds_bytes", "scratch_bytes", "vgprs", "agprs", "sgprs")
    joined = table.join(objects, left_on="code_object", right_on="id", how="left", maintain_order="left")
    return joined.select(
        run.pid(table["pid"]),
        pl.col("id").alias("kernel_id"),
        "kernel",
        "symbol",
        "code_object",
        stated("uri").alias("code_object_uri"),
        *sizes,
    )


def _agents(run: Run) -> pl.DataFrame:
    table = run.agents.drop_nulls("agent_id")
    properties = pl.DataFrame(
        [_properties(text) for text in table["extdata"]], schema=_PROPERTIES, orient="row"
    )
    both = table.hstack(properties)
    return both.select(
        "agent_id",
        stated("type").alias("kind"),
        agents.gfx_of_target_version(pl.col("gfx_target_version"), pl.col("name")).alias("gfx"),
        agents.first_known(both, "product_name", "model_name", "name").alias("agent_name"),
        stated("vendor_name").alias("vendor"),
        pl.col("type_index").alias("logical_index"),
        *(
            "cu_count",
            "simd_count",
            "xcc_count",
            "wave_size",
            "max_waves_per_simd",
            "lds_bytes",
            "memory_bytes",
            "clock_mhz",
        ),
    ).rename({"agent_name": "name"})


_PROPERTIES = {
    "gfx_target_version": pl.Int64(),
    "cu_count": pl.Int64(),
    "simd_count": pl.Int64(),
    "xcc_count": pl.Int64(),
    "wave_size": pl.Int64(),
    "max_waves_per_simd": pl.Int64(),
    "lds_bytes": pl.Int64(),
    "memory_bytes": pl.Int64(),
    "clock_mhz": pl.Float64(),
}


def _properties(text: str | None) -> tuple[int | float | None, ...]:
    try:
        agent = msgspec.json.decode(text or "{}", type=_Properties)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        agent = _Properties()
    lds = None if agent.lds_size_in_kb is None else 1024 * agent.lds_size_in_kb
    memory = agent.local_mem_size or sum(bank.size_in_bytes or 0 for bank in agent.mem_banks)
    return (
        agent.gfx_target_version,
        agent.cu_count,
        agent.simd_count,
        agent.num_xcc,
        agent.wave_front_size,
        agent.max_waves_per_simd,
        lds,
        memory or None,
        agent.max_engine_clk_fcompute or None,
    )


def _counters(run: Run) -> pl.DataFrame:
    texts = ("name", "block", "expression", "description", "units")
    table = run.frame("info_pmc", ["agent_id", "is_derived"], texts=texts).filter(
        stated("name").is_not_null()
    )
    names = run.agents.select(
        agent_id=pl.col("id"), gfx=pl.when(pl.col("name").str.starts_with("gfx")).then("name")
    )
    gfx = table.join(
        names.unique("agent_id", keep="first"), on="agent_id", how="left", maintain_order="left"
    )["gfx"]
    return table.select(
        gfx,
        run.agent(table["agent_id"]),
        pl.col("name").alias("counter"),
        *(stated(column).alias(column) for column in texts[1:-1]),
        stated("units").alias("unit"),
        (pl.col("is_derived") != 0).alias("derived"),
    )
