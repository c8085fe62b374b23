"""`rocm-perf export`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import count, named_path
from rocm_perf.cli.output import say
from rocm_perf.cli.progress import reading_progress
from rocm_perf.errors import UsageError

if TYPE_CHECKING:
    from rocm_perf.model.trace import Trace

# By the suffix of the file to write; the others have to be named.
_BY_SUFFIX = {
    "": "bundle",
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".db": "rocpd",
    ".rpd": "rpd",
    ".pftrace": "perfetto",
}
FORMATS = (*_BY_SUFFIX.values(), "torch", "rocprofv3-csv", "rocprofv3-json", "rocprof-csv", "rocprof-json")


class ExportCommand:
    """Write a recording in another form.

    The suffix of F decides: .parquet and .csv hold one table (--table), .json all of them, .db is a rocpd database,
    .rpd one of rocmProfileData, .pftrace opens in Perfetto; a name without a suffix is a bundle, a folder that loads
    fast and keeps everything. --format names the forms that share a suffix: torch, rocprofv3-csv (a folder),
    rocprofv3-json, rocprof-csv, rocprof-json. A tool's format carries what that tool records and no more.
    """

    name = "export"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "path", metavar="PATH", type=named_path, help="recording, folder of one run, or bundle"
        )
        parser.add_argument(
            "-o", "--output", metavar="F", type=named_path, required=True, help="what to write"
        )
        parser.add_argument(
            "--format", choices=FORMATS, help="form to write, if the suffix does not decide it"
        )
        parser.add_argument("--table", metavar="NAME", help="table for parquet and csv (default: dispatches)")
        parser.add_argument(
            "--pid", metavar="N", type=count, help="process for torch, which holds one per file"
        )
        parser.add_argument("--as-one", action="store_true", help="take all files of a folder as one run")
        parser.add_argument("--force", action="store_true", help="replace what is there")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.ingest import load

        form = args.format or _BY_SUFFIX.get(args.output.suffix)
        if form is None:
            suffixes = ", ".join(suffix for suffix in _BY_SUFFIX if suffix)
            raise UsageError(
                f"cannot write {args.output.suffix} files", next_step=f"Known: {suffixes}; or use --format."
            )
        with reading_progress():
            trace = load.load(args.path, as_one=args.as_one)
        if form in ("parquet", "csv"):
            written = _write_table(trace, args, form)
        elif form == "torch":
            written = _write_torch(trace, args.output, args.pid, args.force)
        else:
            written = _WRITERS[form](trace, args.output, args.force)
        say(written)
        return 0


def _write_table(trace: Trace, args: argparse.Namespace, form: str) -> str:
    from rocm_perf.render.formats.tables import write_table

    name = _chosen(trace, args.table)
    write_table(trace.table(name), args.output, form, overwrite=args.force)
    return f"wrote {args.output}: {trace.rows(name):,} rows of {name}"


def _write_torch(trace: Trace, output: Path, pid: int | None, force: bool) -> str:
    from rocm_perf.render.formats import kineto

    kineto.write(trace, output, pid=pid, overwrite=force)
    return f"wrote {output}"


def _chosen(trace: Trace, table: str | None) -> str:
    tables = list(trace)
    if table is None:
        table = "dispatches" if "dispatches" in tables or not tables else tables[0]
    if table not in tables:
        raise UsageError(
            f"the recording has no rows of {table!r}",
            next_step=f"Choose with --table: {', '.join(tables) or 'none'}.",
        )
    return table


def _bundle(trace: Trace, output: Path, force: bool) -> str:
    from rocm_perf.model import bundle

    manifest = bundle.write(trace, output, overwrite=force)
    rows = sum(entry.rows for entry in manifest.tables.values())
    return f"wrote the bundle {output}: {len(manifest.tables)} tables, {rows:,} rows"


def _json(trace: Trace, output: Path, force: bool) -> str:
    from rocm_perf.render.formats.tables import write_json

    write_json(trace, output, overwrite=force)
    return f"wrote {output}: {', '.join(trace)}"


def _tool(module: str, function: str = "write") -> Callable[[Trace, Path, bool], str]:
    """A writer of a tool's own format, imported when it is used."""

    def write(trace: Trace, output: Path, force: bool) -> str:
        from importlib import import_module

        writer = getattr(import_module(f"rocm_perf.render.formats.{module}"), function)
        writer(trace, output, overwrite=force)
        return f"wrote {output}"

    return write


def _rocprofv3_csv(trace: Trace, output: Path, force: bool) -> str:
    from rocm_perf.render.formats import rocprofv3

    files = rocprofv3.write_csv(trace, output, "out", overwrite=force)
    return f"wrote {output}: {', '.join(file.name for file in files)}"


_WRITERS: dict[str, Callable[[Trace, Path, bool], str]] = {
    "bundle": _bundle,
    "json": _json,
    "rocpd": _tool("rocpd"),
    "rpd": _tool("rpd"),
    "perfetto": _tool("perfetto"),
    "rocprofv3-csv": _rocprofv3_csv,
    "rocprofv3-json": _tool("rocprofv3_json"),
    "rocprof-csv": _tool("rocprof_v1", "write_csv"),
    "rocprof-json": _tool("rocprof_v1", "write_json"),
}
