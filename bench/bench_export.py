"""A trace of a million events written for Perfetto: by rocm-perf, by the messages of the perfetto package as its
documentation shows, and as the JSON of torch.profiler, interleaved in one process, without the time of reading it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.bench_torch import trace_of
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TrackDescriptor, TrackEvent
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

from rocm_perf.ingest.load import load
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import kineto, perfetto
from rocm_perf.render.formats.slices import Slices, slices_of

Writer = Callable[[Trace, Path], object]


class Times(NamedTuple):
    """Wall and processor time of one way to write, of every round, and the size of its file."""

    wall_s: list[float]
    cpu_s: list[float]
    size_bytes: int


def plain(trace: Trace, path: Path) -> None:
    """Every slice with its name, track and annotations, packet by packet, with nothing interned."""
    slices: Slices = slices_of(trace)
    builder = TraceProtoBuilder()
    for uuid, name in enumerate(slices.tracks["name"], start=1):
        builder.add_packet().track_descriptor.CopyFrom(TrackDescriptor(uuid=uuid, name=name))
    for row in slices.rows.iter_rows(named=True):
        begin = builder.add_packet()
        begin.timestamp, begin.trusted_packet_sequence_id = row["start_ns"], 1
        event = begin.track_event
        event.type, event.track_uuid, event.name = TrackEvent.TYPE_SLICE_BEGIN, row["track"] + 1, row["name"]
        event.categories.append(row["category"])
        event.flow_ids.extend(row["flows"] or ())
        for note in slices.notes:
            value = row[note]
            if isinstance(value, str):
                event.debug_annotations.add(name=note, string_value=value)
            elif isinstance(value, int):
                event.debug_annotations.add(name=note, int_value=value)
        end = builder.add_packet()
        end.timestamp, end.trusted_packet_sequence_id = row["end_ns"], 1
        end.track_event.type, end.track_event.track_uuid = TrackEvent.TYPE_SLICE_END, row["track"] + 1
    path.write_bytes(builder.serialize())


def as_json(trace: Trace, path: Path) -> None:
    """The process with the most rows, as torch.profiler writes it."""
    pid = trace.table("dispatches")["pid"].mode()[0]
    kineto.write(trace, path, pid=pid, overwrite=True)


def ours(trace: Trace, path: Path) -> None:
    """What `rocm-perf export --recorded-only` writes."""
    perfetto.write(trace, path, overwrite=True)


WRITERS: dict[str, Writer] = {
    "rocm-perf, .pftrace": ours,
    "perfetto's TraceProtoBuilder": plain,
    "rocm-perf, torch.profiler's JSON": as_json,
}


def measured(trace: Trace, rounds: int) -> dict[str, Times]:
    """Every way to write, by turns."""
    results = {name: Times([], [], 0) for name in WRITERS}
    with tempfile.TemporaryDirectory(prefix="rocm-perf-bench-") as folder:
        for _ in range(rounds):
            for number, (name, write) in enumerate(WRITERS.items()):
                target = Path(folder) / f"{number}.json"
                started, cpu = time.perf_counter(), time.process_time()
                write(trace, target)
                results[name].wall_s.append(time.perf_counter() - started)
                results[name].cpu_s.append(time.process_time() - cpu)
                results[name] = results[name]._replace(size_bytes=target.stat().st_size)
    return results


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    trace = load(trace_of(options.events))
    events = slices_of(trace).rows.height
    results = measured(trace, options.rounds)
    first = statistics.median(next(iter(results.values())).cpu_s)
    print(f"{events:,} slices")
    print(
        "| | median wall | CPU | slices a second of CPU | file | CPU / ours |",
        "|---|" + "---:|" * 5,
        sep="\n",
    )
    for name, times in results.items():
        wall, cpu = statistics.median(times.wall_s), statistics.median(times.cpu_s)
        size = f"{times.size_bytes / 1e6:.0f} MB"
        print(f"| {name} | {wall:.2f} s | {cpu:.2f} s | {events / cpu:,.0f} | {size} | {cpu / first:.1f} |")


if __name__ == "__main__":
    main()
