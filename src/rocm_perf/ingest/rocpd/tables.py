"""The raw tables of a rocpd database: which processes one file holds, their tables, and what an id in one
table means in another."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec
import polars as pl

from rocm_perf.errors import InputError
from rocm_perf.ingest import domains
from rocm_perf.ingest.io.sqlite import Choice, Database
from rocm_perf.model.run import Loss
from rocm_perf.model.time_window import WHOLE, Span

MAIN_TABLE = "rocpd_kernel_dispatch"
# Without a row in one of these, a process is not there: its tables were made, and nothing was recorded.
_TELLING = ("kernel_dispatch", "region", "memory_copy", "memory_allocate", "sample", "event", "info_process")
_SUFFIXED = re.compile(MAIN_TABLE + r"(|_[0-9A-Za-z_\-]+)")


class Extdata(msgspec.Struct):
    """The fields of the JSON text of an event or an allocation that are read."""

    message: str | None = None
    flags: str | None = None


class Lookup:
    """Rows by their id."""

    def __init__(self, frame: pl.DataFrame, key: str = "id") -> None:
        self._key = key
        self.frame = frame
        if not _ascending(frame[key]):
            self.frame = frame.drop_nulls(key).unique(key, keep="first", maintain_order=True).sort(key)

    def get(self, wanted: pl.Series, *columns: str) -> pl.DataFrame:
        """The columns of the row of each wanted id, in order; nulls where there is no such row."""
        table = self.frame.select(self._key, *columns)
        ids = table[self._key]
        if ids.is_empty() or ids[-1] - ids[0] != ids.len() - 1:
            rows = (
                wanted.alias(self._key)
                .to_frame()
                .join(table, on=self._key, how="left", maintain_order="left")
            )
            return rows.select(columns)
        # Ids without gaps, as most primary keys are, give the position of their row.
        places = (wanted - ids[0]).set(~wanted.is_between(ids[0], ids[-1]), None)
        return pl.DataFrame([table[column].gather(places) for column in columns])

    def column(self, wanted: pl.Series, column: str) -> pl.Series:
        return self.get(wanted, column)[column]


class RangedLookup(Lookup):
    """Rows by their id, of a table that is too large to be held: each question reads the range of its ids."""

    def __init__(self, read: Callable[[Span], pl.DataFrame]) -> None:
        self._read = read
        self._range = Span(0, 0)
        super().__init__(read(self._range))

    def get(self, wanted: pl.Series, *columns: str) -> pl.DataFrame:
        low, high = wanted.min(), wanted.max()
        asked = Span(low, high + 1) if isinstance(low, int) and isinstance(high, int) else Span(0, 0)
        if asked != self._range:
            self._range = asked
            super().__init__(self._read(asked))
        return super().get(wanted, *columns)


@dataclass(frozen=True)
class Run:
    """One recorded process: the tables that share a suffix or, in tables without one, a guid."""

    database: Database
    suffix: str
    guid: str | None = None
    during: Span = WHOLE  # the part that is read
    losses: list[Loss] = field(default_factory=list)

    def lose(self, what: str, records: int | None = None) -> None:
        self.losses.append(Loss(self.database.name, what, records))

    def has(self, table: str) -> bool:
        return self.database.has(f"rocpd_{table}{self.suffix}")

    def has_column(self, table: str, column: str) -> bool:
        return self.has(table) and column in self.database.columns(f"rocpd_{table}{self.suffix}")

    def frame(
        self,
        table: str,
        integers: Sequence[str] = (),
        reals: Sequence[str] = (),
        texts: Sequence[str] = (),
        only: Mapping[str, Choice] | None = None,
    ) -> pl.DataFrame:
        """All requested columns: null where this release lacks the column, no rows where it lacks the table."""
        kinds = {
            **dict.fromkeys(integers, pl.Int64()),
            **dict.fromkeys(reals, pl.Float64()),
            **dict.fromkeys(texts, pl.String()),
        }
        if not self.has(table):
            return pl.DataFrame(schema=kinds)
        chosen = {**(only or {}), **({"guid": [self.guid]} if self.guid else {})}
        try:
            rows = self.database.frame(f"rocpd_{table}{self.suffix}", integers, reals, texts, chosen)
        except InputError as error:
            self.lose(f"table rocpd_{table} ({error.why})")
            return pl.DataFrame(schema=kinds)
        missing = [pl.lit(None, kind).alias(name) for name, kind in kinds.items() if name not in rows.columns]
        return rows.with_columns(missing).select(list(kinds))

    def timed(
        self,
        table: str,
        integers: Sequence[str] = (),
        texts: Sequence[str] = (),
        times: Sequence[str] = ("start", "end"),
    ) -> pl.DataFrame:
        """The rows of an event table that have a time. Zero means that no time was recorded."""
        if self.has(table):
            present = self.database.columns(f"rocpd_{table}{self.suffix}")
            missing = [name for name in times if name not in present]
            if missing:
                self.lose(
                    f"table rocpd_{table} (it has no {' and '.join(missing)}: this layout cannot be read)"
                )
                return pl.DataFrame(
                    schema=dict.fromkeys(integers, pl.Int64()) | dict.fromkeys(texts, pl.String())
                )
        rows = self.frame(table, integers, texts=texts, only={times[0]: self.during})
        untimed = rows.height - rows.drop_nulls(times).height
        if untimed:
            self.lose(f"rows of rocpd_{table} without a usable {' or '.join(times)}", untimed)
        return rows.drop_nulls(times) if untimed else rows

    def events(self) -> Lookup:
        """The category and the stack id of each event; of a part, those that are asked for."""
        columns = ("id", "category_id", "stack_id")
        if self.during == WHOLE:
            return Lookup(self.frame("event", columns))
        return RangedLookup(lambda ids: self.frame("event", columns, only={"id": ids}))

    @property
    def is_empty(self) -> bool:
        try:
            return not any(
                self.database.count(f"rocpd_{table}{self.suffix}") for table in _TELLING if self.has(table)
            )
        except InputError:
            return False  # reading it will say why

    @cached_property
    def strings(self) -> Lookup:
        """Each string, and the API domain it names if it is a category."""
        table = self.frame("string", ["id"], texts=["string"])
        category = pl.col("string").str.to_uppercase().str.strip_prefix("ROCM_")
        return Lookup(table.with_columns(domain=domains.normalised(category)))

    @cached_property
    def marker_categories(self) -> list[int]:
        return self.strings.frame.filter(pl.col("domain") == "marker")["id"].to_list()

    @cached_property
    def messages(self) -> Lookup:
        """The program's message of each marker event."""
        if not self.marker_categories:
            return Lookup(pl.DataFrame(schema={"id": pl.Int64, "message": pl.String}))
        table = self.frame("event", ["id"], texts=["extdata"], only={"category_id": self.marker_categories})
        messages = [extdata(text).message for text in table["extdata"]]
        return Lookup(table.select("id").with_columns(pl.Series("message", messages, dtype=pl.String)))

    @cached_property
    def symbols(self) -> Lookup:
        """The kernels; `symbol` is the mangled name."""
        sizes = {
            "code_object_id": "code_object",
            "kernarg_segment_size": "kernarg_bytes",
            "group_segment_size": "lds_bytes",
            "private_segment_size": "scratch_bytes",
            "arch_vgpr_count": "vgprs",
            "accum_vgpr_count": "agprs",
            "sgpr_count": "sgprs",
        }
        table = self.frame("info_kernel_symbol", ["id", "pid", *sizes], texts=["kernel_name", "display_name"])
        symbol = domains.kernel_name(stated("kernel_name"))
        kernel = pl.coalesce(domains.kernel_name(stated("display_name")), symbol)
        return Lookup(table.with_columns(kernel=kernel, symbol=symbol).rename(sizes))

    @cached_property
    def agents(self) -> pl.DataFrame:
        texts = ["type", "name", "model_name", "vendor_name", "product_name", "extdata"]
        table = self.frame("info_agent", ["id", "absolute_index", "type_index"], texts=texts)
        return table.with_columns(agent_id=pl.coalesce("absolute_index", "id"))

    @cached_property
    def processes(self) -> pl.DataFrame:
        times = ("init", "fini", "start", "end")
        return self.frame("info_process", ["id", "ppid", "pid", *times], texts=["command"])

    @cached_property
    def _agents(self) -> Lookup:
        return Lookup(self.agents)

    @cached_property
    def _processes(self) -> Lookup:
        return Lookup(self.processes)

    @cached_property
    def _threads(self) -> Lookup:
        return Lookup(self.frame("info_thread", ["id", "tid"]))

    def agent(self, ids: pl.Series) -> pl.Series:
        """The number that rocprofv3's other outputs give an agent."""
        return self._agents.column(ids, "agent_id")

    def pid(self, ids: pl.Series) -> pl.Series:
        return self._processes.column(ids, "pid")

    def tid(self, ids: pl.Series) -> pl.Series:
        return self._threads.column(ids, "tid")

    def span(self, raw: pl.DataFrame, events: Lookup) -> pl.DataFrame:
        """Time, process, thread and correlation id: the columns that every event table has."""
        has_times = (pl.col("start") != 0) | (pl.col("end") != 0)
        return raw.select(
            pl.when(has_times).then("start").alias("start_ns"),
            pl.when(has_times).then("end").alias("end_ns"),
            self.pid(raw["pid"]),
            self.tid(raw["tid"]),
            events.column(raw["event_id"], "stack_id").alias("correlation_id"),
        )


def runs_of(database: Database, span: Span = WHOLE) -> list[Run]:
    """The processes of a file, in the order of its tables; `span` is the part of them that will be read."""
    suffixes = (match.group(1) for table in database.tables if (match := _SUFFIXED.fullmatch(table)))
    sets = [Run(database, suffix, during=span) for suffix in suffixes]
    runs: list[Run] = []
    for run in [run for run in sets if not run.is_empty] or sets[:1]:
        guids = (
            run.frame("info_process", texts=["guid"])["guid"]
            .drop_nulls()
            .unique(maintain_order=True)
            .to_list()
        )
        runs += [run] if len(guids) < 2 else [Run(database, run.suffix, guid, span) for guid in guids]
    return runs


def stated(column: str) -> pl.Expr:
    """The text, or null if it is empty."""
    return pl.when(pl.col(column) != "").then(pl.col(column))


def extdata(text: str | None) -> Extdata:
    """The fields of an extdata text; empty if it cannot be decoded."""
    try:
        return msgspec.json.decode(text or "{}", type=Extdata)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return Extdata()


def _ascending(ids: pl.Series) -> bool:
    """Whether the ids are ascending, without nulls and duplicates."""
    return not ids.null_count() and bool((ids.diff().drop_nulls() > 0).all())
