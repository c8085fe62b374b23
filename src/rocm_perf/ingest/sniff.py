"""Which format a file has, decided by its content."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module

from rocm_perf.errors import EmptyCaptureError, InputError, NotARecordingError
from rocm_perf.ingest.io.plain_pickle import is_pickle
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter
from rocm_perf.ingest.peek import Peek

# The first adapter that claims a file gets it, so the strictest ones come first.
MODULES = (
    "own.run_record",
    "nvidia.rptrace",
    "torch_memory.snapshot",
    "rocpd.database",
    "rpd.database",
    "rocprof.v1_db",
    "rocprof_compute.database",
    "nvidia.nsys",
    "rocprofv3.csv_traces",
    "rocprofv3.stats_csv",
    "rocprofv3.pc_sampling",
    "att.code",
    "rocprof_compute.workload",
    "rocprof.v1_csv",
    "rocprof.v2",
    "rocprof.roctracer",
    "nvidia.ncu",
    "own.sample_file",
    "own.count_file",
    "own.library_trace",
    "system.smi_csv",
    "rocprofv3.results_json",
    "nvidia.cupti",
    "kineto.trace",
    "rpd.chrome_json",
    "rocprof.v1_json",
    "xplane.space",
    "xplane.chrome",
    "chrome.trace",
    "perfetto.pftrace",
    "system.sysinfo",
)


@cache
def adapters() -> tuple[Adapter, ...]:
    """Every format that can be read, in the order in which they are tried."""
    return tuple(_one_by_one())


def _one_by_one() -> Iterator[Adapter]:
    """The adapters, each imported when it is its turn."""
    for module in MODULES:
        yield from import_module(f"rocm_perf.ingest.{module}").ADAPTERS


def adapter_named(name: str) -> Adapter:
    """The adapter of that name."""
    return next(adapter for adapter in _one_by_one() if adapter.name == name)


def sniff(source: Source) -> Adapter:
    """The adapter for a source; raises an error that describes the file if there is none."""
    peek = Peek(source)
    if not peek.head.strip() and not peek.damage:
        raise EmptyCaptureError(
            f"{source.name} is empty",
            "the profiler recorded nothing there",
            "Check what it printed when it ran.",
        )
    for adapter in _one_by_one():
        if adapter.claims(peek):
            return adapter
    if peek.damage:
        raise InputError(f"cannot read {source.name}", peek.damage, "Copy it again from its machine.")
    raise NotARecordingError(
        f"{source.name} is not a recording that rocm-perf knows",
        describe(peek),
        "`rocm-perf formats` lists what is read.",
    )


def describe(peek: Peek) -> str:
    """What the file looks like, for someone who wonders why it was not recognised."""
    if peek.is_sqlite:
        shown = ", ".join(peek.sqlite_tables[:5]) or "none"
        return f"it is a SQLite file, but its tables ({shown}) are not those of a profiler"
    if peek.json_kind == "object":
        return f"it is JSON with the keys {', '.join(peek.json_keys[:5]) or '(none)'}"
    if peek.json_kind == "array":
        return "it is a JSON array, but not of trace events"
    if peek.head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "it is UTF-16 text, and profilers write UTF-8; convert it with iconv -f UTF-16 -t UTF-8"
    if peek.head.startswith(b"PK"):
        return "it is a zip file inside another archive; unpack the outer one"
    if is_pickle(peek.head):
        return "it is a Python pickle, but not of a torch memory snapshot"
    text = peek.text.strip()[:40]
    if peek.is_binary or not all(character.isprintable() or character.isspace() for character in text):
        return f"it is binary and starts with {peek.head[:8].hex(' ')}"
    header = peek.csv_header
    if len(header) > 1:
        return f"it is text whose first line names {', '.join(header[:4])}"
    return f"it is text that starts {text!r}"
