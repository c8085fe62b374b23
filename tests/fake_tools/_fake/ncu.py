"""ncu: runs the application, then prints one row a kernel with the metrics that were asked for (`--page raw`). It
counts on the simulated kernels of the workload, as if they had run on an H200."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import faults, recording, settings, windows
from .application import Application

if TYPE_CHECKING:
    import polars as pl

    from rocm_perf.sim.steps import Kernel

_WITH_VALUE = {
    "--page": ("details", "raw", "source", "session"),
    "--print-units": ("auto", "base"),
    "--clock-control": ("base", "none", "boost"),
    "--target-processes": ("all", "application-only"),
    "--profile-from-start": ("on", "off", "yes", "no", "0", "1"),
    "--kernel-name-base": ("function", "demangled", "mangled"),
    "--metrics": (),
    "--log-file": (),
    "--kernel-name": (),
    "--kernel-id": (),
    "--launch-skip": (),
    "--launch-count": (),
    "--nvtx-include": (),
    "--range-filter": (),
}
_SHORT = {"-k": "--kernel-name", "-s": "--launch-skip", "-c": "--launch-count"}
_LAUNCH = (
    *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream"),
    *("Block Size", "Grid Size", "Device", "CC"),
)
NO_PERMISSION = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the "
    "target device 0. For instructions on enabling permissions and to get more information see "
    "https://developer.nvidia.com/ERR_NVGPUCTRPERM"
)


@dataclass
class Options:
    """The command line."""

    values: dict[str, str] = field(default_factory=dict)
    ranges: list[str] = field(default_factory=list)
    csv: bool = False
    nvtx: bool = False
    application: list[str] = field(default_factory=list)


def main(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        print(
            "NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 36398880) (public-release)"
        )
        return 0
    options = parse(arguments)
    application = Application(options.application)
    status = application.wait()
    faults.after_application()
    text = "".join(f"{line}\n" for line in _output(options, application.pid, status))
    log = options.values.get("--log-file")
    if log:
        Path(log).write_text(text)
        faults.damage([Path(log)])
    else:
        print(text, end="")
    return 128 - status if status < 0 else status


def parse(arguments: list[str]) -> Options:
    rest, options = list(arguments), Options()
    while rest and rest[0].startswith("-"):
        word, _, value = rest.pop(0).partition("=")
        name = _SHORT.get(word, word)
        if name == "--csv":
            options.csv = True
        elif name == "--nvtx":
            options.nvtx = True
        elif name == "--nvtx-include":
            options.ranges.append(_allowed(name, value or (rest.pop(0) if rest else "")))
        elif name in _WITH_VALUE:
            options.values[name] = _allowed(name, value or (rest.pop(0) if rest else ""))
        else:
            _refuse(f"unrecognised option '{word}'. Use --help for further details.")
    if not rest:
        _refuse("No target application specified. Use --help for further details.")
    options.application = rest
    return options


def _allowed(name: str, value: str) -> str:
    choices = _WITH_VALUE[name]
    if not value or (choices and value not in choices):
        _refuse(f"the argument ('{value}') for option '{name}' is invalid. Use --help for further details.")
    return value


def _refuse(why: str) -> None:
    print(f"==ERROR== {why}", file=sys.stderr)
    raise SystemExit(1)


def _output(options: Options, pid: int, status: int) -> Iterator[str]:
    name = Path(options.application[0]).name
    yield f"==PROF== Connected to process {pid} ({name})"
    denied = settings.fault()[0] == "permission"
    if denied:
        yield NO_PERMISSION
    if status:
        yield f"==ERROR== The application returned an error code ({status})."
    yield f"==PROF== Disconnected from process {pid}"
    rows = [] if denied or settings.fault()[0] == "empty" else list(_rows(options, pid, name))
    if not rows:
        yield "==WARNING== No kernels were profiled."
        return
    metrics = options.values.get("--metrics", "gpu__time_duration.sum").split(",")
    units = ["", *[""] * (len(_LAUNCH) - 1), *(_unit(metric) for metric in metrics)]
    for row in ([*_LAUNCH, *metrics], units, *rows):
        line = io.StringIO()
        csv.writer(line, quoting=csv.QUOTE_ALL, lineterminator="").writerow(row)
        yield line.getvalue()


def _rows(options: Options, pid: int, name: str) -> Iterator[list[str]]:
    wanted = recording.Wanted(domains=frozenset({"kernel", "marker"}))
    start = settings.boot_clock_ns()
    process = recording.record(pid, options.application, start, wanted)[0]
    tables = {name: process.trace.table(name) for name in ("dispatches", "ranges")}
    dispatches = _in_ranges(options, tables, start)
    kernels = {kernel.name: kernel for kernel in recording.workload().kernels.values()}
    metrics = options.values.get("--metrics", "gpu__time_duration.sum").split(",")
    for number, row in enumerate(_selected(options, dispatches.to_dicts())):
        block = [row[f"workgroup_{axis}"] or 1 for axis in "xyz"]
        grid = [(row[f"grid_{axis}"] or 1) // size for axis, size in zip("xyz", block, strict=True)]
        yield [
            *(str(number), str(pid), name, "127.0.0.1", row["kernel"], "1", "7"),
            *(f"({', '.join(map(str, block))})", f"({', '.join(map(str, grid))})", "0", "9.0"),
            *(str(_value(metric, row, kernels[row["kernel"]])) for metric in metrics),
        ]


def _in_ranges(options: Options, tables: dict[str, pl.DataFrame], start: int) -> pl.DataFrame:
    """The kernels of the ranges that are named, or of the program's own start and stop calls; of these, those of the
    instances that are counted out. NAME/ is a range that is pushed and popped, as `step` is."""
    dispatches = tables["dispatches"]
    if options.values.get("--profile-from-start") == "off":
        spans, place = windows.region(tables, start), 1
    elif options.ranges and options.nvtx:
        names = {
            re.sub(r"\\(.)", r"\1", name.removesuffix("/")) for name in options.ranges if name.endswith("/")
        }
        spans, place = tuple(span for name in names for span in windows.region(tables, start, name)), 2
    else:
        return dispatches
    instances = options.values.get("--range-filter", "::").split(":")[place]
    if instances:
        first, last = map(int, instances.strip("[]").split("-"))
        spans = spans[first - 1 : last]
    return windows.inside({"dispatches": dispatches}, start, spans)["dispatches"]


def _selected(options: Options, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As ncu filters: first the kernels that fit, then how many of them are skipped and taken."""
    pattern = options.values.get("--kernel-name", "regex:")
    fits = [row for row in rows if _fits(pattern, str(row["kernel"]))]
    if "--kernel-id" in options.values:
        fits = list(_identified(options.values["--kernel-id"], fits))
    skipped = int(options.values.get("--launch-skip", "0"))
    count = int(options.values.get("--launch-count", str(len(fits))))
    return fits[skipped : skipped + count]


def _identified(kernel_id: str, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """CONTEXT:STREAM:[regex:]NAME:LAUNCH, the launch a number or a regular expression, counted for each kernel."""
    _, _, *name, launch = kernel_id.split(":")
    seen: dict[str, int] = {}
    for row in rows:
        kernel = str(row["kernel"])
        if name != [""] and not _fits(":".join(name), kernel):
            continue
        seen[kernel] = seen.get(kernel, 0) + 1
        if not launch or re.fullmatch(launch, str(seen[kernel])):
            yield row


def _fits(pattern: str, kernel: str) -> bool:
    if pattern.startswith("regex:"):
        return re.search(pattern.removeprefix("regex:"), kernel) is not None
    return pattern == kernel.partition("(")[0].split()[-1]


def _value(metric: str, row: dict[str, Any], kernel: Kernel) -> float:
    """Two thirds of the bytes are read; every operation is half of an FMA."""
    levels, flops = kernel.bytes, kernel.flops
    values: dict[str, float] = {
        "gpu__time_duration.sum": row["end_ns"] - row["start_ns"],
        "dram__bytes_read.sum": levels.get("hbm", 0) * 2 // 3,
        "dram__bytes_write.sum": levels.get("hbm", 0) // 3,
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": flops.get("f32", 0) // 2,
        "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum": flops.get("f16", 0) // 2,
    }
    return values.get(metric, 50.0 if "pct" in metric else 0)


def _unit(metric: str) -> str:
    if "pct" in metric:
        return "%"
    return "ns" if "duration" in metric else "byte" if "bytes" in metric else "inst"
