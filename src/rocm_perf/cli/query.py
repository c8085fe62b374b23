"""`rocm-perf query`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rocm_perf.cli.progress import reading_progress
from rocm_perf.errors import UsageError


class QueryCommand:
    """Ask a recording in SQL.

    The tables are those of `rocm-perf formats --tables`; times are integers in nanoseconds. Example:
    rocm-perf query run/ "SELECT kernel, count(*) AS n FROM dispatches GROUP BY kernel ORDER BY n DESC"
    """

    name = "query"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("path", metavar="PATH", type=Path, help="recording, folder of one run, or bundle")
        parser.add_argument("--as-one", action="store_true", help="take all files of a folder as one run")
        parser.add_argument("sql", metavar="SQL", help="a SELECT over the tables of the recording")
        parser.add_argument(
            "--limit", metavar="N", type=int, default=40, help="rows to show (default 40; 0 for all)"
        )
        shape = parser.add_mutually_exclusive_group()
        shape.add_argument("--json", action="store_true", help="rows as JSON")
        shape.add_argument("--csv", action="store_true", help="rows as CSV")

    def run(self, args: argparse.Namespace) -> int:
        import polars as pl

        from rocm_perf.ingest import load
        from rocm_perf.model.schema import SCHEMAS

        with reading_progress():
            trace = load.load(args.path, as_one=args.as_one)
        tables = {name: trace.lazy(name) for name in SCHEMAS}
        try:
            result = pl.SQLContext(tables, eager=True).execute(args.sql)
        except pl.exceptions.PolarsError as error:
            held = ", ".join(trace)
            raise UsageError(
                "the query failed", str(error).splitlines()[0], f"Tables with rows here: {held}."
            ) from error
        _print(result, args)
        return 0


def _print(result: object, args: argparse.Namespace) -> None:
    import polars as pl

    assert isinstance(result, pl.DataFrame)
    if args.json:
        from rocm_perf.render import json

        print(json.encode({"columns": result.columns, "rows": result.rows()}))
    elif args.csv:
        sys.stdout.write(result.write_csv())
    else:
        from rocm_perf.cli.console import result_console
        from rocm_perf.render.grid import grid

        shown = result if args.limit == 0 else result.head(args.limit)
        console = result_console()
        console.print(grid(shown, console.width))
        if shown.height < result.height:
            print(f"{result.height - shown.height:,} more rows (--limit 0 shows all, --csv and --json too)")
