"""From planes to tables, whichever file they come from."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from rocm_perf.ingest.xplane import devices, hosts
from rocm_perf.ingest.xplane.operations import CARRIER, Operations, Programs
from rocm_perf.ingest.xplane.planes import Plane


def tables_of(planes: list[Plane], programs: Programs, start_ns: int | None) -> dict[str, pl.DataFrame]:
    """All tables. Times count from the start of the profile, if that is given."""
    on_devices = [plane for plane in planes if plane.device]
    work = devices.kinds(_dated(devices.device_events(on_devices), start_ns))
    host = hosts.sorted_out(_dated(hosts.host_events(planes), start_ns))
    operations = _Operations(work["kernels"], work["copies"], host, programs)
    kernels = operations.kernels
    used = pl.concat([kernels["agent_id"], operations.copies["agent_id"], work["totals"]["agent_id"]])
    frames = hosts.python_frames(host["frames"])
    spans = devices.device_ranges(on_devices)
    samples = devices.counter_samples(on_devices)
    return {
        "dispatches": devices.dispatches(kernels),
        "copies": devices.copies(operations.copies),
        "allocations": pl.concat(
            [devices.allocations(work["memory"]), hosts.allocations(host["memory"])], how="diagonal"
        ),
        "summaries": devices.summaries(work["totals"]),
        "api_calls": hosts.api_calls(
            operations.calls, amd=any(devices.is_amd(plane) for plane in on_devices)
        ),
        "ops": pl.concat([operations.rows, frames], how="diagonal"),
        "ranges": pl.concat(
            [hosts.ranges(host["ranges"]), *([_dated(spans, start_ns)] if spans.height else [])],
            how="diagonal",
        ),
        "collectives": operations.collectives,
        "samples": pl.concat(
            [
                hosts.memory_samples(host["memory"]),
                *([_dated(samples, start_ns, "time_ns")] if samples.height else []),
            ],
            how="diagonal",
        ),
        "agents": devices.agents(on_devices, used.unique()),
    }


def _dated(events: pl.DataFrame, start_ns: int | None, *columns: str) -> pl.DataFrame:
    """Times since 1970; those of some files are already."""
    if start_ns is None:
        return events
    return events.with_columns(
        pl.when(pl.col(name) < start_ns).then(pl.col(name) + start_ns).otherwise(name).alias(name)
        for name in (columns or ("start_ns", "end_ns"))
    )


class _Operations:
    """The work of devices and calls of the host with the operators that they belong to."""

    def __init__(
        self,
        kernels: pl.DataFrame,
        copies: pl.DataFrame,
        host: Mapping[str, pl.DataFrame],
        programs: Programs,
    ) -> None:
        calls = host["calls"]
        launched = pl.col("correlation_id").is_in(
            calls.filter(pl.col("hlo_op").is_not_null())["correlation_id"].drop_nulls().implode()
        )
        own = pl.col("hlo_op").is_not_null() & ~launched.fill_null(False)
        names = kernels.group_by("correlation_id").agg(pl.col("event").first().alias("carried"))
        carriers = {
            "calls": _carriers(calls.join(names, on="correlation_id", how="left", maintain_order="left")),
            "operations": _carriers(host["operations"]),
            "kernels": _carriers(_on_tracks_of_devices(kernels).filter(own)),
        }
        every = pl.concat(carriers.values())
        ops = Operations(every.drop("row"), programs)
        placed = every.select("row").with_columns(ops.op_ids)
        heights = [frame.height for frame in carriers.values()]
        of_calls, _, of_kernels = (
            placed.slice(sum(heights[:index]), height) for index, height in enumerate(heights)
        )
        self.calls = _with_op_id(calls, of_calls)
        by_call = self.calls.drop_nulls(["correlation_id", "op_id"]).select("correlation_id", "op_id")
        by_call = by_call.unique("correlation_id", keep="first")
        self.copies = copies.join(by_call, on="correlation_id", how="left", maintain_order="left")
        joined = _with_op_id(kernels, of_kernels).join(
            by_call, on="correlation_id", how="left", maintain_order="left", suffix="_of_call"
        )
        self.kernels = joined.with_columns(pl.coalesce("op_id", "op_id_of_call").alias("op_id"))
        self.collectives = ops.collectives(self.kernels)
        self.rows = ops.rows()


def _on_tracks_of_devices(kernels: pl.DataFrame) -> pl.DataFrame:
    """Streams as tracks of their own, apart from the threads, whose numbers are not negative or very large."""
    track = pl.struct("agent_id", "stream_id").rank("dense").cast(pl.Int64)
    return kernels.with_row_index("row").with_columns((-track).alias("tid"), pl.col("event").alias("carried"))


def _carriers(events: pl.DataFrame) -> pl.DataFrame:
    """The events that name an operation, and their rows."""
    numbered = events if "row" in events.columns else events.with_row_index("row")
    if "carried" not in numbered.columns:
        numbered = numbered.with_columns(pl.col("hlo_op").alias("carried"))
    return numbered.filter(pl.col("hlo_op").is_not_null()).select("row", *CARRIER)


def _with_op_id(events: pl.DataFrame, placed: pl.DataFrame) -> pl.DataFrame:
    numbered = events.with_row_index("row")
    return numbered.join(placed, on="row", how="left", maintain_order="left").drop("row")
