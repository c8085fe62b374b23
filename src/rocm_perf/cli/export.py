"""`rocm-perf export`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import add_captures, count, named_path, size
from rocm_perf.cli.output import say
from rocm_perf.cli.reading import reading
from rocm_perf.errors import UsageError
from rocm_perf.units import format_count

if TYPE_CHECKING:
    from rocm_perf.model.time_window import TimeWindow

# By the end of the name of the file to write, the longest first; the others have to be named.
_BY_SUFFIX = {
    ".speedscope.json": "speedscope",
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".db": "rocpd",
    ".rpd": "rpd",
    ".pftrace": "perfetto",
    ".folded": "folded",
    ".prom": "prometheus",
}
_OTHER_WORKBOOKS = (".xls", ".xlsm", ".xlsb", ".ods", ".csv")
FORMATS = (
    "bundle",
    *_BY_SUFFIX.values(),
    *("torch", "rocprofv3-csv", "rocprofv3-json", "rocprof-csv", "rocprof-json"),
)


class ExportCommand:
    """Write a recording in another form.

    The suffix of F decides: .parquet and .csv hold one table (--table), .json all of them, .db is a rocpd database,
    .rpd one of rocmProfileData, .pftrace opens in Perfetto, .speedscope.json in speedscope, .folded in flame-graph
    tools, .prom is what Prometheus scrapes; a name without a suffix is a bundle, a folder that loads fast and keeps
    everything. --format names the forms that share a suffix: torch, rocprofv3-csv (a folder), rocprofv3-json,
    rocprof-csv, rocprof-json. A tool's format carries what that tool records and no more; a .pftrace also shows
    phases, steps, critical path and idle times as the analysis sees them. --sheets writes what the analysis found,
    as the tables that users of TraceLens know.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "path", metavar="PATH", type=named_path, help="recording, folder of one run, or bundle"
        )
        written = parser.add_mutually_exclusive_group(required=True)
        written.add_argument("-o", "--output", metavar="F", type=named_path, help="what to write")
        written.add_argument(
            "--sheets",
            metavar="DIR|F.xlsx",
            type=named_path,
            help="the tables of the analysis for a spreadsheet: CSV files in a folder, or a workbook",
        )
        parser.add_argument(
            "--format", choices=FORMATS, help="form to write, if the suffix does not decide it"
        )
        parser.add_argument(
            "--from",
            dest="since",
            metavar="T",
            default="",
            help="only what starts from this time on: seconds (or 500ms, 2min) after the start of the recording",
        )
        parser.add_argument(
            "--to", dest="until", metavar="T", default="", help="only what starts before this time"
        )
        parser.add_argument(
            "--split",
            metavar="SIZE",
            type=size,
            help="several .pftrace files of at most this size (200M), each a stretch of time that opens alone",
        )
        parser.add_argument(
            "--recorded-only",
            action="store_true",
            help="a .pftrace without the tracks of the analysis, which takes less time",
        )
        parser.add_argument(
            "--whole", action="store_true", help="sheets of the whole recording, not of its steady state"
        )
        parser.add_argument("--table", metavar="NAME", help="table for parquet and csv (default: dispatches)")
        parser.add_argument(
            "--pid", metavar="N", type=count, help="process for torch, which holds one per file"
        )
        parser.add_argument("--as-one", action="store_true", help="take all files of a folder as one run")
        add_captures(parser)
        parser.add_argument(
            "--memory",
            metavar="SIZE",
            type=size,
            help="the memory to get by with: 6G, 500M (default: 80 %% of what is available); the bundle of a recording "
            "that takes more is written piece by piece",
        )
        parser.add_argument("--force", action="store_true", help="replace what is there")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.cli.export_writers import Wish, write
        from rocm_perf.cli.recording_size import pieces_of
        from rocm_perf.ingest import load

        form = _sheets_form(args.sheets) if args.sheets else args.format or _form_of(args.output)
        if args.split is not None and form != "perfetto":
            raise UsageError(f"{form} files are not split", next_step="--split is for .pftrace files.")
        if args.memory is not None and form != "bundle":
            raise UsageError(f"{form} files are written at once", next_step="--memory is for bundles.")
        window = _window(args.since, args.until)
        pieces = pieces_of(args.path, window, args.memory) if form == "bundle" else []
        if pieces:
            say(_written_in_pieces(args, window, pieces))
            return 0
        with reading():
            trace = load.load(args.path, as_one=args.as_one, window=window, captures=args.captures)
        wish = Wish(
            form=form,
            output=args.sheets or args.output,
            force=args.force,
            table=args.table,
            pid=args.pid,
            split_bytes=args.split,
            recorded_only=args.recorded_only,
            whole=args.whole,
        )
        say(write(trace, wish) + (f" (what starts in the window {window})" if window else ""))
        return 0


def _written_in_pieces(
    args: argparse.Namespace, part: TimeWindow | None, pieces: Sequence[TimeWindow]
) -> str:
    """Write a bundle piece by piece, and say what was written."""
    from rocm_perf.cli.export_writers import of_bundle
    from rocm_perf.ingest.pieces import windows_at, write_in_pieces

    with reading():
        windows = windows_at(args.path, pieces, as_one=args.as_one)
        manifest = write_in_pieces(windows, args.output, part=part, overwrite=args.force)
    in_part = f", what starts in the window {part}" if part else ""
    return f"{of_bundle(args.output, manifest)} (read in {format_count(len(pieces), 'piece')}{in_part})"


def _form_of(output: Path) -> str:
    """The form that the name of a file asks for."""
    if not output.suffix:
        return "bundle"
    for suffix, form in _BY_SUFFIX.items():
        if output.name.endswith(suffix):
            return form
    raise UsageError(
        f"cannot write {output.suffix} files", next_step=f"Known: {', '.join(_BY_SUFFIX)}; or use --format."
    )


def _sheets_form(output: Path) -> str:
    """The form of sheets, for a folder or a workbook of Excel."""
    if output.suffix.lower() in _OTHER_WORKBOOKS:
        raise UsageError(
            f"cannot write {output.suffix} files", next_step="Name a file that ends in .xlsx, or a folder."
        )
    return "sheets"


def _window(since: str, until: str) -> TimeWindow | None:
    """The window between two times; None where neither is given."""
    from rocm_perf.model.time_window import parse_window

    if not (since or until):
        return None
    try:
        return parse_window(f"{since}..{until}")
    except ValueError as error:
        raise UsageError(
            f"cannot export from {since or 'the start'} to {until or 'the end'}", str(error)
        ) from error
