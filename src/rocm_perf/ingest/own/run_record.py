"""The record that rocm-perf leaves beside what it records: the command, what was requested, and what could not be
done."""

from __future__ import annotations

import os
import shlex
import socket

import msgspec

from rocm_perf.errors import InputError
from rocm_perf.ingest.io.source import Source, note_consulted
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.collection import KIND, VERSION, CollectionRecord

_FLUSHED = "what is here is what was flushed"


def read(source: Source) -> Part:
    try:
        record = msgspec.json.decode(source.read().data, type=CollectionRecord)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot read {source.name}", f"it is not a complete record of a run ({error})"
        ) from error
    if record.version > VERSION:
        raise InputError(
            f"{source.name} is of version {record.version}",
            f"this rocm-perf reads up to version {VERSION}",
            "Update rocm-perf.",
        )
    return part(
        "rocm-perf",
        {},
        host=record.host,
        rank=record.rank,
        command=shlex.join(record.command),
        clock="boot" if any(run.started_ns for run in record.passes) else "unknown",
        asked=record.asked,
        notices=_notices(record),
        recorded_at=record.started_at,
        collection=record,
    )


def _notices(record: CollectionRecord) -> tuple[str, ...]:
    """Notices about how the run ended; the record itself holds the rest."""
    state = {
        "running": _unfinished(record),
        "interrupted": f"interrupted: {_FLUSHED}",
        "timed out": f"stopped by the timeout: {_FLUSHED}",
        "failed": _failed(record),
    }.get(record.state, "")
    return tuple(note for note in (state, *record.notices) if note)


def is_under_way(record: CollectionRecord) -> bool:
    """Whether rocm-perf is recording the run on this machine now."""
    here = record.host == socket.gethostname()
    process = f"/proc/{record.pid}"
    note_consulted(process)
    return record.state == "running" and here and os.path.exists(process)


def _unfinished(record: CollectionRecord) -> str:
    """How far a run got whose record still says that it is running."""
    if record.host != socket.gethostname():
        return f"it was not finished when it was copied: {_FLUSHED}"
    if is_under_way(record):
        return "still being recorded"
    return f"interrupted: {_FLUSHED}"


def _failed(record: CollectionRecord) -> str:
    failed = [run for run in record.passes if run.exit_status]
    return failed[-1].explanation if failed else ""


def _claims(peek: Peek) -> bool:
    return peek.json_kind == "object" and f'"{KIND}"' in peek.text[:200] and "kind" in peek.json_keys[:1]


ADAPTERS = (
    Adapter(
        name="rocm-perf-run",
        title="rocm-perf-run.json, the record of a run of rocm-perf profile",
        recognised_by=f'JSON that starts with "kind": "{KIND}"',
        claims=_claims,
        read=read,
    ),
)
