"""What comes before the events of a Perfetto trace: its clock, its tracks, and the names that events refer to by
number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from rocm_perf.model.derived import ANALYSIS
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats.perfetto_events import NEEDS_STATE, SEQUENCE

_SERVICE = 1  # sequence of the tracer's own packets
_STATE_CLEARED = 1  # TracePacket.sequence_flags: nothing is interned yet
_BOOT, _REAL = 6, 1  # BuiltinClock
_BEHIND_IDS = 2**31  # ids of processes and threads are positive, in 32 bits
_EXPLICIT_ORDER = 3  # TrackDescriptor.ChildTracksOrdering


@cache
def messages() -> Any:
    """Perfetto's generated messages, which take a while to import."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2

    return perfetto_trace_pb2


def framed(packets: Iterable[Any]) -> bytes:
    """Packets as elements of a Trace."""
    return bytes(messages().Trace(packet=packets).SerializeToString())


def head(trace: Trace, first_ns: int) -> Iterator[Any]:
    """The clock, the system, and the start of a sequence with nothing interned."""
    clock = messages().TracePacket(trusted_packet_sequence_id=_SERVICE)
    clock.clock_snapshot.primary_trace_clock = _BOOT
    for number in (_BOOT, _REAL) if trace.run.clock == "epoch" else (_BOOT,):
        clock.clock_snapshot.clocks.add(clock_id=number, timestamp=first_ns)
    yield clock
    system = trace.table("nodes")["os"].drop_nulls()
    if len(system):
        host = messages().TracePacket(trusted_packet_sequence_id=_SERVICE)
        name, _, release = system[0].partition(" ")
        host.system_info.utsname.sysname, host.system_info.utsname.release = name, release
        yield host
    yield _packet(sequence_flags=_STATE_CLEARED, first_packet_on_sequence=True)


def interned(field: str, texts: Iterable[str], at_once: int = 1000) -> Iterator[Any]:
    """The texts numbered from 1, in a field of InternedData."""
    packet = None
    for number, text in enumerate(texts, start=1):
        if packet is None or number % at_once == 1:
            if packet is not None:
                yield packet
            packet = _packet(sequence_flags=NEEDS_STATE)
        entry = getattr(packet.interned_data, field).add(iid=number)
        if field == "debug_annotation_string_values":
            entry.str = text.encode()
        else:
            entry.name = text
    if packet is not None:
        yield packet


class TrackDescriptors:
    """Tracks with their numbers, described a parent before its children: a process has threads and GPUs, a GPU has
    queues, streams and sensors."""

    def __init__(self, trace: Trace) -> None:
        self.packets: list[Any] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self._commands = dict(trace.table("processes").select("pid", "command").iter_rows())
        self._gpus = dict(trace.table("agents").select("agent_id", "name").iter_rows())
        for pid in sorted(pid for pid in self._commands if pid is not None):
            self._process(pid)

    def slices(self, *, pid: int | None, tid: int | None, agent: int | None, name: str, lane: int) -> int:
        """The number of a track for slices; further lanes have the name of the first, and viewers merge them."""
        key = (pid, tid, agent, name, lane)
        descriptor = self._new(key, parent=self._gpu(pid, agent) if agent is not None else self._process(pid))
        if _is_id(pid) and _is_id(tid) and not lane:
            descriptor.thread.pid, descriptor.thread.tid = pid, tid
        else:
            descriptor.name = name
        return self._numbers[key]

    def counter(self, *, agent: int | None, name: str, unit: str | None, derived: bool) -> int:
        """The number of a track for readings."""
        key = ("counter", agent, name, unit)
        parent = self._analysis() if derived else self._gpu(None, agent) if agent is not None else None
        descriptor = self._new(key, parent)
        descriptor.name, descriptor.counter.unit_name = name, unit or ""
        return self._numbers[key]

    def derived(self, name: str, lane: int) -> int:
        """The number of a track for slices that an analysis made."""
        key = ("derived", name, lane)
        self._new(key, self._analysis()).name = name
        return self._numbers[key]

    def _process(self, pid: int | None) -> int | None:
        if pid is None:
            return None
        key = ("process", pid)
        if key not in self._numbers:
            descriptor = self._new(key, None)
            if _is_id(pid):
                descriptor.process.pid = pid
            else:
                descriptor.name = f"PROCESS {pid}"
            if command := self._commands.get(pid):
                descriptor.process.cmdline.extend(command.split(" "))
                descriptor.process.process_name = command.split(" ")[0]
        return self._numbers[key]

    def _gpu(self, pid: int | None, agent: int) -> int:
        key = ("gpu", pid, agent)
        if key not in self._numbers:
            name = " ".join(filter(None, (f"GPU [{agent}]", self._gpus.get(agent))))
            self._new(key, self._process(pid)).name = name if pid is not None else f"{name}: sensors"
        return self._numbers[key]

    def _analysis(self) -> int:
        key = ("analysis",)
        if key not in self._numbers:
            descriptor = self._new(key, None)
            descriptor.name, descriptor.child_ordering = ANALYSIS, _EXPLICIT_ORDER
        return self._numbers[key]

    def _new(self, key: tuple[object, ...], parent: int | None) -> Any:
        """The empty description of a track."""
        self._numbers[key] = len(self._numbers) + 1
        packet = _packet()
        packet.track_descriptor.uuid = packet.track_descriptor.sibling_order_rank = self._numbers[key]
        if parent is not None:
            packet.track_descriptor.parent_uuid = parent
        self.packets.append(packet)
        return packet.track_descriptor


def _is_id(number: int | None) -> bool:
    return number is not None and 0 <= number < _BEHIND_IDS


def _packet(**fields: Any) -> Any:
    return messages().TracePacket(trusted_packet_sequence_id=SEQUENCE, **fields)
