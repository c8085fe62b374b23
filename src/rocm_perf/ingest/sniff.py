"""Which format a file has, decided by its content."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Literal

from rocm_perf.errors import EmptyCaptureError, InputError, NotARecordingError
from rocm_perf.ingest.io.plain_pickle import is_pickle
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter
from rocm_perf.ingest.peek import Peek

Form = Literal["database", "JSON", "not JSON", "any"]

# The first adapter that claims a file gets it, so the strictest ones come first. Of a file in another form than an
# adapter reads, that adapter is not even imported.
_FORMS: dict[str, Form] = {
    "own.run_record": "JSON",
    "nvidia.rptrace": "not JSON",
    "torch_memory.snapshot": "not JSON",
    "rocpd.database": "database",
    "rpd.database": "database",
    "rocprof.v1_db": "database",
    "rocprof_compute.database": "database",
    "nvidia.nsys": "database",
    "rocprofv3.csv_traces": "not JSON",
    "rocprofv3.stats_csv": "not JSON",
    "rocprofv3.pc_sampling": "not JSON",
    "att.code": "any",
    "rocprof_compute.workload": "not JSON",
    "rocprof.v1_csv": "not JSON",
    "rocprof.v2": "not JSON",
    "rocprof.roctracer": "not JSON",
    "nvidia.ncu": "any",
    "own.sample_file": "not JSON",
    "own.count_file": "JSON",
    "own.code_file": "JSON",
    "own.library_trace": "not JSON",
    "system.smi_csv": "not JSON",
    "rocprofv3.results_json": "JSON",
    "nvidia.cupti": "JSON",
    "kineto.trace": "JSON",
    "rpd.chrome_json": "JSON",
    "rocprof.v1_json": "JSON",
    "xplane.space": "any",
    "xplane.chrome": "JSON",
    "chrome.trace": "JSON",
    "perfetto.pftrace": "any",
    "system.sysinfo": "any",
}
MODULES = tuple(_FORMS)


@cache
def adapters() -> tuple[Adapter, ...]:
    """Every format that can be read, in the order in which they are tried."""
    return tuple(_one_by_one(MODULES))


def _one_by_one(modules: Iterable[str]) -> Iterator[Adapter]:
    """The adapters of these modules, each imported when it is its turn."""
    for module in modules:
        yield from import_module(_full(module)).ADAPTERS


def _full(module: str) -> str:
    return f"rocm_perf.ingest.{module}"


def adapter_named(name: str) -> Adapter:
    """The adapter of that name; it is mostly one of those that are imported already."""
    imported_first = sorted(MODULES, key=lambda module: _full(module) not in sys.modules)
    return next(adapter for adapter in _one_by_one(imported_first) if adapter.name == name)


def possible_modules(peek: Peek) -> list[str]:
    """The modules whose adapters may claim a file of this form, in their order."""
    forms = {"any", "not JSON" if peek.json_kind is None else "JSON"}
    if peek.is_sqlite:
        forms.add("database")
    return [module for module, form in _FORMS.items() if form in forms]


def sniff(source: Source) -> Adapter:
    """The adapter for a source; raises an error that describes the file if there is none."""
    peek = Peek(source)
    if not peek.head.strip() and not peek.damage:
        raise EmptyCaptureError(
            f"{source.name} is empty",
            "the profiler recorded nothing there",
            "Check what it printed when it ran.",
        )
    for adapter in _one_by_one(possible_modules(peek)):
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
