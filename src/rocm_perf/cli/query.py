"""`rocm-perf query`."""

from __future__ import annotations

import argparse
import json as plain_json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import add_captures, count, named_path, positive, seconds
from rocm_perf.cli.output import show, show_data, show_json
from rocm_perf.cli.progress import reading_progress
from rocm_perf.errors import OutputError, UsageError
from rocm_perf.units import format_count

if TYPE_CHECKING:
    import polars as pl

    from rocm_perf.model.trace import Trace

_TIMEOUT_S = 60.0
_MOST_ROWS = 10_000_000


class QueryCommand:
    """Ask a recording in SQL.

    The tables are those of `rocm-perf formats --tables`; times are integers in nanoseconds. Example:
    rocm-perf query run/ "SELECT kernel, count(*) AS n FROM dispatches GROUP BY kernel ORDER BY n DESC"

    A query sees only the tables: read_csv and the like are refused without --allow-files. It ends after --timeout.
    """

    name = "query"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("path", metavar="PATH", type=named_path, help="recording, folder of one run, or bundle")
        add("--as-one", action="store_true", help="take all files of a folder as one run")
        add_captures(parser)
        add("sql", metavar="SQL", help="a SELECT over the tables of the recording")
        add("--limit", metavar="N", type=count, default=40, help="rows to show (default 40; 0 for all)")
        add("--timeout", metavar="S", type=seconds, default=_TIMEOUT_S, help="seconds it may take (60)")
        add(
            "--max-rows",
            metavar="N",
            type=positive,
            default=_MOST_ROWS,
            help="rows it may return (10,000,000)",
        )
        add("--allow-files", action="store_true", help="let the query read files and addresses that it names")
        shape = parser.add_mutually_exclusive_group()
        shape.add_argument("--json", action="store_true", help="rows as JSON")
        shape.add_argument("--csv", action="store_true", help="rows as CSV")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.ingest import load

        with reading_progress():
            trace = load.load(args.path, as_one=args.as_one, captures=args.captures)
        _print(_answer(trace, args), args)
        return 0


def _answer(trace: Trace, args: argparse.Namespace) -> pl.DataFrame:
    """The rows of the query, which runs in a process of its own so a timeout or a signal can end it."""
    import polars as pl

    from rocm_perf.cli import query_process

    with tempfile.TemporaryDirectory(prefix="rocm-perf-query-") as name:
        folder = Path(name)
        _write_tables(trace, args.sql, folder)
        request = {
            "folder": name,
            "sql": args.sql,
            "most_rows": args.max_rows,
            "allow_files": args.allow_files,
            "asked_by": os.getpid(),
        }
        text = plain_json.dumps(request, ensure_ascii=False).encode()  # refuses what is not UTF-8
        done = _run([sys.executable, query_process.__file__], text, args.timeout)
        if done.returncode:
            raise _failure(done, trace, args)
        return pl.read_ipc((folder / query_process.RESULT).read_bytes())


def _write_tables(trace: Trace, sql: str, folder: Path) -> None:
    """Write each table; of those that the query does not name, only the columns."""
    from rocm_perf.cli.query_process import TABLE_SUFFIX
    from rocm_perf.model import schema

    text = sql.lower()
    try:
        for name in schema.SCHEMAS:
            frame = trace.table(name) if name in text else schema.empty(name)
            frame.write_ipc(folder / f"{name}{TABLE_SUFFIX}")
    except OSError as error:
        raise OutputError(
            "cannot write the tables for the query",
            str(error),
            "Point TMPDIR to a folder with more space.",
        ) from error


def _run(argv: list[str], request: bytes, timeout_s: float) -> subprocess.CompletedProcess[bytes]:
    """Run the query process to its end; it is killed when its time is up, or when a signal ends this process."""
    try:
        return subprocess.run(
            argv,
            input=request,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # Polars writes there when it panics, before that is caught
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"the query took longer than {timeout_s:g} s and was ended",
            next_step="Narrow it down, or allow more with --timeout S.",
        ) from error


def _failure(done: subprocess.CompletedProcess[bytes], trace: Trace, args: argparse.Namespace) -> UsageError:
    from rocm_perf.cli.query_process import EXIT_FAILED, EXIT_REACHED_OUT, EXIT_TOO_MANY_ROWS

    if done.returncode == EXIT_REACHED_OUT:
        return UsageError(
            "the query reads more than the recording",
            "only its tables are open to it",
            "Add --allow-files to let it read files and addresses.",
        )
    if done.returncode == EXIT_TOO_MANY_ROWS:
        return UsageError(
            f"the query returns more than {format_count(args.max_rows, 'row')}",
            next_step="Add a LIMIT to it, or allow more with --max-rows N.",
        )
    if done.returncode == EXIT_FAILED:
        return UsageError(
            "the query failed",
            done.stdout.decode("utf-8", "replace"),
            f"Tables with rows here: {', '.join(trace)}.",
        )
    return UsageError(
        "the query ended unexpectedly", "it may need more memory than there is", "Narrow it down."
    )


def _print(result: pl.DataFrame, args: argparse.Namespace) -> None:
    if args.json:
        from rocm_perf.render import json

        show_json(json.encode({"columns": result.columns, "rows": result.rows()}))
    elif args.csv:
        show_data(_csv(result))
    else:
        from rocm_perf.cli.console import result_console
        from rocm_perf.render.grid import grid

        shown = result if args.limit == 0 else result.head(args.limit)
        console = result_console()
        console.print(grid(shown, console.width))
        if shown.height < result.height:
            show(f"{result.height - shown.height:,} more rows (--limit 0 shows all, --csv and --json too)")


def _csv(result: pl.DataFrame) -> str:
    from rocm_perf.render.formats.cells import inert

    nested = [name for name, dtype in result.schema.items() if dtype.is_nested()]
    if nested:
        raise UsageError(f"CSV cannot hold the lists in {', '.join(nested)}", next_step="Use --json.")
    return inert(result).write_csv()
