"""One process of a Trace as a rocpd database sees it: its id, which rows are its own, and what is known about the
machine, its threads, agents, kernels and counters."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import msgspec
import polars as pl

from rocm_perf.model.trace import Trace

UNKNOWN = -1  # an id that names no row: what points there reads as not recorded

_TIMED = ("dispatches", "api_calls", "ranges", "copies", "allocations", "scratch")
_PROPERTIES = {
    "cu_count": "cu_count",
    "simd_count": "simd_count",
    "num_xcc": "xcc_count",
    "wave_front_size": "wave_size",
    "max_waves_per_simd": "max_waves_per_simd",
    "local_mem_size": "memory_bytes",
    "max_engine_clk_fcompute": "clock_mhz",
}
_REGISTERS = ("vgprs", "agprs", "sgprs")


@dataclass(frozen=True)
class Process:
    """A process and pass of a run; every one has tables of its own."""

    trace: Trace
    node: int
    pid: int | None
    pass_id: int
    alone: bool  # the only one of its node and pass: rows without a process are its own
    only: bool  # the only one of the run
    leads: bool  # the first of its node: what belongs to the machine as a whole is written with it

    @property
    def id(self) -> int:
        return UNKNOWN if self.pid is None else self.pid

    def rows(self, table: str, *columns: str) -> pl.DataFrame:
        """The rows of a table that belong to this process: all columns, or the named ones."""
        frame = self.trace.table(table)
        if self.only:
            return frame.select(columns) if columns else frame
        tests = [pl.col("node") == self.node]
        if "pass_id" in frame.columns:
            tests.append(pl.col("pass_id") == self.pass_id)
        if "pid" in frame.columns:
            # A kernel without a process belongs to every process.
            shared = self.alone or table == "kernels"
            mine = pl.col("pid").eq_missing(pl.lit(self.pid, pl.Int64))
            tests.append(mine | pl.col("pid").is_null() if shared else mine)
        return frame.lazy().filter(*tests).select(columns or pl.all()).collect()

    def column(self, table: str, column: str) -> pl.Series:
        return self.rows(table, column)[column]

    @cached_property
    def suffix(self) -> str:
        """The suffix of its tables' names, the same for the same content."""
        content: list[object] = [self.host, self.node, self.pid, self.pass_id]
        for table in _TIMED:
            frame = self.rows(table, "start_ns", "end_ns")
            content += [frame.height, frame["start_ns"].min(), frame["end_ns"].max()]
        text = hashlib.sha256(repr(content).encode()).hexdigest()
        return "".join(f"_{text[low:high]}" for low, high in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))

    @cached_property
    def machine(self) -> dict[str, object]:
        nodes = self.trace.table("nodes").filter(pl.col("node") == self.node)
        return nodes.row(0, named=True) if nodes.height else {}

    @property
    def host(self) -> str | None:
        host = self.machine.get("host")
        return None if host is None else str(host)

    @cached_property
    def machine_id(self) -> str:
        return hashlib.sha256(f"{self.host} {self.node}".encode()).hexdigest()[:32]

    @property
    def nid(self) -> int:
        return int(self.machine_id[:8], 16)

    def node_info(self) -> pl.DataFrame:
        system, _, release = str(self.machine.get("os") or "").partition(" ")
        row = {
            "id": self.nid,
            "hash": int(self.machine_id[:15], 16),
            "machine_id": self.machine_id,
            "system_name": system,
            "hostname": self.host,
            "release": release,
        }
        return pl.DataFrame([row], schema_overrides={"hostname": pl.String})

    def process_info(self) -> pl.DataFrame:
        if self.pid is None:
            return pl.DataFrame()
        rows = self.rows("processes").filter(pl.col("pid") == self.pid).head(1)
        first, last = pl.col("start_ns"), pl.col("end_ns")
        info = rows.select(
            "ppid",
            first.alias("init"),
            last.alias("fini"),
            first.alias("start"),
            last.alias("end"),
            "command",
        )
        if info.is_empty():
            info = pl.DataFrame({"command": [None]}, schema={"command": pl.String})
        return info.select(
            pl.lit(self.pid).alias("id"),
            pl.lit(self.nid).alias("nid"),
            pl.lit(self.pid).alias("pid"),
            pl.all(),
        )

    def threads(self) -> pl.DataFrame:
        tids = pl.concat([self.column(table, "tid") for table in _TIMED]).drop_nulls().unique().sort()
        return self.owned(tids.alias("id").to_frame().with_columns(tid="id"))

    def named(self, column: str, noun: str) -> pl.DataFrame:
        """Its queues or streams, named as in rocprofv3; 0 is the default one."""
        used = [self.column(table, column) for table in ("dispatches", "copies", "allocations", "scratch")]
        ids = pl.concat([pl.Series(column, [0], dtype=pl.Int64), *used]).drop_nulls().unique().sort()
        names = [f"Default {noun}" if number == 0 else f"{noun} {number - 1}" for number in ids]
        return self.owned(pl.DataFrame({"id": ids, "name": names}))

    def agents(self) -> pl.DataFrame:
        """The agents that are described, and those that are only referred to."""
        described = self.trace.table("agents").filter(pl.col("node") == self.node)
        gpus = self.column("dispatches", "agent_id").unique()
        used = [self.column(table, "agent_id") for table in ("allocations", "scratch", "counters")]
        used += [self.column("copies", column) for column in ("agent_id", "src_agent", "dst_agent")]
        used.append(self.trace.table("samples").filter(pl.col("node") == self.node)["agent_id"])
        undescribed = pl.concat([gpus, *used]).drop_nulls().unique().sort()
        undescribed = undescribed.filter(~undescribed.is_in(described["agent_id"].implode()))
        is_gpu = undescribed.is_in(gpus.implode())
        more = pl.DataFrame(
            {"agent_id": undescribed, "kind": pl.select(pl.when(is_gpu).then(pl.lit("GPU"))).to_series()}
        )
        both = pl.concat([described, more], how="diagonal").unique(
            "agent_id", keep="first", maintain_order=True
        )
        kind = pl.col("kind")
        return self.owned(
            both.select(
                pl.col("agent_id").alias("id"),
                pl.when(kind.is_in(["CPU", "GPU"])).then(kind).alias("type"),
                pl.col("agent_id").alias("absolute_index"),
                pl.col("agent_id").alias("logical_index"),
                pl.col("logical_index").alias("type_index"),
                "uuid",
                pl.coalesce("gfx", "name").alias("name"),
                pl.col("vendor").alias("vendor_name"),
                pl.col("name").alias("product_name"),
                pl.Series(
                    "extdata", [_properties(row) for row in both.iter_rows(named=True)], dtype=pl.String
                ),
            )
        )

    @cached_property
    def symbols(self) -> pl.DataFrame:
        """Kernels by name and registers. A dispatch gets its registers from the symbol: one that no symbol matches
        gets a new one."""
        listed = self.rows("kernels")
        if listed["kernel_id"].null_count() or listed["kernel_id"].is_duplicated().any():
            listed = listed.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("kernel_id"))
        key = ["kernel", *_REGISTERS]
        used = self.rows("dispatches", *key).unique(maintain_order=True)
        more = used.join(listed, on=key, how="anti", nulls_equal=True, maintain_order="left")
        first = 1 + max(listed["kernel_id"].to_list(), default=0)
        more = more.with_columns(pl.int_range(first, first + pl.len(), dtype=pl.Int64).alias("kernel_id"))
        return pl.concat([listed, more], how="diagonal")

    def kernel_ids(self) -> pl.Series:
        """The symbol of each dispatch."""
        key = ["kernel", *_REGISTERS]
        ids = self.symbols.unique(key, keep="first", maintain_order=True).select(*key, "kernel_id")
        rows = self.rows("dispatches", *key)
        return rows.join(ids, on=key, how="left", nulls_equal=True, maintain_order="left")["kernel_id"]

    def code_objects(self) -> pl.DataFrame:
        objects = self.symbols.select(
            pl.col("code_object").fill_null(0).alias("id"), pl.col("code_object_uri").alias("uri")
        )
        return self.owned(objects.unique("id", keep="first", maintain_order=True))

    def kernel_symbols(self) -> pl.DataFrame:
        symbols = self.symbols
        extdata = [
            msgspec.json.encode({"kernel_id": number, "formatted_kernel_name": name}).decode()
            for number, name in symbols.select("kernel_id", "kernel").iter_rows()
        ]
        return self.owned(
            symbols.select(
                pl.col("kernel_id").alias("id"),
                pl.col("code_object").fill_null(0).alias("code_object_id"),
                (pl.col("symbol") + ".kd").alias("kernel_name"),
                pl.col("kernel").alias("display_name"),
                pl.col("kernarg_bytes").alias("kernarg_segment_size"),
                pl.col("lds_bytes").alias("group_segment_size"),
                pl.col("scratch_bytes").alias("private_segment_size"),
                pl.col("sgprs").alias("sgpr_count"),
                pl.col("vgprs").alias("arch_vgpr_count"),
                pl.col("agprs").alias("accum_vgpr_count"),
                pl.Series("extdata", extdata, dtype=pl.String),
            )
        )

    @cached_property
    def sensors(self) -> pl.DataFrame:
        """Readings of the machine's sensors."""
        samples = self.trace.table("samples")
        return samples.filter(self.leads, pl.col("node") == self.node).drop_nulls("time_ns")

    @cached_property
    def counted(self) -> pl.DataFrame:
        """What was counted or read: an id for each agent and name, with what is known about it."""
        info = self.trace.table("counter_info").rename({"counter": "name", "unit": "units"}).drop("gfx")
        counters = self.rows("counters", "agent_id", "counter").rename({"counter": "name"})
        sensors = self.sensors.select(
            "agent_id", pl.col("metric").alias("name"), pl.col("unit").alias("units")
        )
        frames = [info, counters.unique(maintain_order=True), sensors.unique(maintain_order=True)]
        every = pl.concat(frames, how="diagonal").unique(
            ["agent_id", "name"], keep="first", maintain_order=True
        )
        return every.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("id"))

    def pmc_info(self) -> pl.DataFrame:
        return self.owned(
            self.counted.select(
                *("id", "agent_id", "name", pl.col("name").alias("symbol"), "description"),
                *("block", "expression", pl.col("units").fill_null("")),
                pl.lit("GPU").alias("target_arch"),
                pl.lit("ABS").alias("value_type"),
                pl.col("derived").cast(pl.Int64).alias("is_derived"),
            )
        )

    def owned(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(
            pl.lit(self.nid, pl.Int64).alias("nid"), pl.lit(self.id, pl.Int64).alias("pid")
        )


def processes_of(trace: Trace) -> list[Process]:
    """Every process and pass that recorded something, by machine, process and pass."""
    key = ["node", "pid", "pass_id"]
    frames = [trace.table(table).select(key).unique() for table in (*_TIMED, "counters", "processes")]
    processes = pl.concat(frames).unique().sort(key, nulls_last=True)
    named = processes.filter(pl.col("pid").is_not_null())
    alone = named.group_by("node", "pass_id").len().filter(pl.col("len") == 1).select("node", "pass_id")
    lonely = set(alone.iter_rows())
    kept = [row for row in processes.iter_rows() if row[1] is not None or (row[0], row[2]) not in lonely] or [
        (0, None, 0)
    ]
    leaders = {node: (node, pid, number) for node, pid, number in reversed(kept)}
    return [
        Process(
            trace=trace,
            node=node,
            pid=pid,
            pass_id=number,
            alone=(node, number) in lonely,
            only=len(kept) == 1,
            leads=leaders[node] == (node, pid, number),
        )
        for node, pid, number in kept
    ]


def _properties(agent: dict[str, object]) -> str:
    """The known part of an agent's JSON."""
    properties = {name: agent[ours] for name, ours in _PROPERTIES.items() if agent[ours] is not None}
    lds, clock = agent["lds_bytes"], agent["clock_mhz"]
    if isinstance(lds, int):
        properties["lds_size_in_kb"] = lds // 1024
    if isinstance(clock, float) and clock.is_integer():
        properties["max_engine_clk_fcompute"] = int(clock)
    return msgspec.json.encode(properties).decode()
