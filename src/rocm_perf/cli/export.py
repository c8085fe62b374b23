"""`rocm-perf export`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.progress import reading_progress
from rocm_perf.errors import UsageError

if TYPE_CHECKING:
    from rocm_perf.model.trace import Trace


class ExportCommand:
    """Write a recording in another form.

    -o F.parquet or F.csv writes one table (--table), F.json the whole recording, and a name without a suffix
    a bundle: a folder that loads fast and keeps everything.
    """

    name = "export"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("path", metavar="PATH", type=Path, help="recording, folder of one run, or bundle")
        parser.add_argument("--as-one", action="store_true", help="take all files of a folder as one run")
        parser.add_argument(
            "-o", "--output", metavar="F", type=Path, required=True, help="file or bundle to write"
        )
        parser.add_argument(
            "--table", metavar="NAME", help="table for .parquet and .csv (default: dispatches)"
        )
        parser.add_argument("--force", action="store_true", help="replace what is there")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.ingest import load
        from rocm_perf.render.tables import SUFFIXES

        if args.output.suffix and args.output.suffix not in SUFFIXES:
            raise UsageError(
                f"cannot write {args.output.suffix} files",
                next_step=f"Known: {', '.join(SUFFIXES)}, and a name without a suffix for a bundle.",
            )
        with reading_progress():
            trace = load.load(args.path, as_one=args.as_one)
        written = _write(trace, args.output, args.table, args.force)
        print(written, file=sys.stderr)
        return 0


def _write(trace: Trace, output: Path, table: str | None, force: bool) -> str:
    from rocm_perf.model import bundle
    from rocm_perf.render.tables import write_json, write_table

    if not output.suffix:
        manifest = bundle.write(trace, output, overwrite=force)
        rows = sum(entry.rows for entry in manifest.tables.values())
        return f"wrote the bundle {output}: {len(manifest.tables)} tables, {rows:,} rows"
    if output.suffix == ".json":
        write_json(trace, output, overwrite=force)
        return f"wrote {output}: {', '.join(trace)}"
    name = _chosen(trace, table)
    write_table(trace.table(name), output, overwrite=force)
    return f"wrote {output}: {trace.rows(name):,} rows of {name}"


def _chosen(trace: Trace, table: str | None) -> str:
    held = list(trace)
    if table is None:
        table = "dispatches" if "dispatches" in held or not held else held[0]
    if table not in held:
        raise UsageError(
            f"the recording has no rows of {table!r}",
            next_step=f"Choose with --table: {', '.join(held) or 'none'}.",
        )
    return table
