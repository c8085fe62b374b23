"""`rocm-perf query`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import add_captures, count, named_path, positive, seconds
from rocm_perf.cli.output import show, show_data, show_json
from rocm_perf.cli.reading import reading
from rocm_perf.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

_TIMEOUT_S = 60.0
_MOST_ROWS = 10_000_000


class QueryCommand:
    """Ask a recording in SQL.

    The tables are those of `rocm-perf formats --tables`; times are integers in nanoseconds. Example:
    rocm-perf query run/ "SELECT kernel, count(*) AS n FROM dispatches GROUP BY kernel ORDER BY n DESC"

    A query sees only the tables: read_csv and the like are refused without --allow-files. It ends after --timeout.
    """

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
        from rocm_perf.sql.query import answer

        with reading():
            trace = load.load(args.path, as_one=args.as_one, captures=args.captures)
        rows = answer(
            trace,
            args.sql,
            timeout_s=args.timeout,
            most_rows=args.max_rows,
            allow_files=args.allow_files,
        )
        _print(rows, args)
        return 0


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
