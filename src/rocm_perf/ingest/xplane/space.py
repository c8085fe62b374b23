"""XPlane files (.xplane.pb) of jax.profiler, and of TensorFlow's profiler: one XSpace for each host."""

from __future__ import annotations

import re

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.protobuf import BYTES, BrokenMessageError, fields, varint
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.xplane.decode import Space, decode_space
from rocm_perf.ingest.xplane.devices import without_events
from rocm_perf.ingest.xplane.messages import PLANES
from rocm_perf.ingest.xplane.operations import Programs
from rocm_perf.ingest.xplane.tables import tables_of
from rocm_perf.model.run import Loss

_PLANE_NAME = re.compile(rb"/(host|device|virtualdevice):|#Chip|Task Environment$|Host CPUs$|Syscalls$")
_PLANES_TAG = bytes([PLANES << 3 | BYTES])
_NAME = 2  # field of XPlane
TOOL = "jax.profiler"


def read_space(source: Source) -> Part:
    """All tables of the file."""
    content = source.read()
    space = decode_space(content.data)
    if not space.planes:
        raise InputError(
            f"{source.name} cannot be read as an XPlane file",
            "; ".join([content.damage, *space.damage] if content.damage else space.damage)
            or "it holds no plane",
            "Copy it again from its machine, or record it again.",
        )
    programs = Programs(space.programs)
    tables = tables_of(space.planes, programs, _start_ns(space))
    losses = [Loss(source.name, what) for what in (content.damage, *space.damage, *space.errors) if what]
    if programs.broken:
        losses.append(Loss(source.name, "compiled programs that do not decode", programs.broken))
    if not any(table.height for table in tables.values()):
        if content.damage or space.damage:
            raise InputError(
                f"{source.name} is damaged or cut off before its first event",
                "; ".join(loss.what for loss in losses),
                "Copy it again from its machine, or record it again.",
            )
        raise EmptyCaptureError(
            f"{source.name} holds no events",
            "; ".join(loss.what for loss in losses) or "the profiler recorded nothing between start and stop",
            "Profile longer than the first, compiling call of the program.",
        )
    return part(
        TOOL,
        tables,
        losses,
        tool_version=_fact(space, "jax_version"),
        host=space.hosts[0] if len(space.hosts) == 1 else None,
        pid=_pid(space),
        clock="epoch" if _start_ns(space) else "relative",
        notices=(*space.warnings, *without_events(space.planes)),
    )


def _start_ns(space: Space) -> int | None:
    """When the profile began, in ns since 1970."""
    start = next(
        (p.facts["profile_start_time"] for p in space.planes if "profile_start_time" in p.facts), None
    )
    return start if isinstance(start, int) else None


def _fact(space: Space, name: str) -> str | None:
    return next((str(plane.facts[name]) for plane in space.planes if name in plane.facts), None)


def _pid(space: Space) -> int | None:
    text = _fact(space, "process_id") or ""
    return int(text) if text.isdecimal() else None


def claims(peek: Peek) -> bool:
    """Whether it begins with a plane whose name is one that planes have. The name comes first, so it is seen even
    where the plane is longer than the head."""
    head = peek.head
    if not head.startswith(_PLANES_TAG):
        return False
    try:
        _, start = varint(head, len(_PLANES_TAG), len(head))
        for at in fields(head, start):
            if at.number == _NAME and at.kind == BYTES:
                return _PLANE_NAME.match(head[at.start : at.end]) is not None
            if at.number > _NAME:
                return False
    except BrokenMessageError:
        pass
    return False


ADAPTERS = (
    Adapter(
        name="xplane",
        title="XPlane file of jax.profiler (or TensorFlow's): .xplane.pb",
        recognised_by="a protobuf message whose first plane is named /host:... or /device:...",
        claims=claims,
        read=read_space,
        fills=(
            "dispatches",
            "copies",
            "api_calls",
            "ops",
            "ranges",
            "collectives",
            "allocations",
            "summaries",
            "samples",
            "agents",
        ),
    ),
)
