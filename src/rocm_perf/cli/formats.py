"""`rocm-perf formats`."""

from __future__ import annotations

import argparse

from rocm_perf.cli.output import show_json


class FormatsCommand:
    """Which formats are read, and how each is recognised.

    A file's content decides, never its name. With --tables: the tables a recording becomes, as `query` sees them.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--tables", action="store_true", help="list the tables and columns instead")
        parser.add_argument("--json", action="store_true", help="print as JSON")

    def run(self, args: argparse.Namespace) -> int:
        rows = _tables() if args.tables else _formats()
        if args.json:
            from rocm_perf.render import json

            show_json(json.encode(rows))
            return 0
        from rocm_perf.cli.console import result_console
        from rocm_perf.render.grid import text_grid

        result_console().print(text_grid(rows))
        return 0


def _formats() -> list[dict[str, str]]:
    from rocm_perf.ingest.sniff import adapters

    return [
        {"format": adapter.title, "recognised by": adapter.recognised_by, "name": adapter.name}
        for adapter in adapters()
    ]


def _tables() -> list[dict[str, str]]:
    from rocm_perf.model.schema import SCHEMAS

    return [
        {
            "table": schema.name,
            "column": column.name,
            "type": str(column.dtype()),
            "unit": column.unit,
            "meaning": column.doc,
        }
        for schema in SCHEMAS.values()
        for column in schema.columns
    ]
