"""`rocm-perf repro`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rocm_perf.cli.arguments import add_captures, named_path, positive
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.cli.reading import reading
from rocm_perf.errors import EmptyCaptureError, UsageError

if TYPE_CHECKING:
    import polars as pl

LISTED = 20


class ReproCommand:
    """Write a script that calls one recorded torch operator again.

    The script needs only torch and times the call with device events; it also runs on a CPU. Operators that do more
    than compute on tensors (files, processes, communication) are refused. Without --op it lists the operators that took
    the most GPU time, with their ids.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "path", metavar="PATH", type=named_path, help="torch.profiler trace, folder of one run, or bundle"
        )
        parser.add_argument(
            "--op", metavar="ID|NAME", help="operator call by id, or the longest call of that name"
        )
        parser.add_argument(
            "-o", "--output", metavar="F.py", type=named_path, help="file to write (default: standard output)"
        )
        parser.add_argument(
            "--iterations", metavar="N", type=positive, default=100, help="calls to time (default 100)"
        )
        parser.add_argument("--as-one", action="store_true", help="take all files of a folder as one run")
        add_captures(parser)
        parser.add_argument("--force", action="store_true", help="replace the file")
        parser.add_argument("--json", action="store_true", help="the list of operators as JSON")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.analysis.operators.build import NO_OPERATORS, operator_calls
        from rocm_perf.ingest import load

        with reading():
            trace = load.load(args.path, as_one=args.as_one, captures=args.captures)
        calls = operator_calls(trace)
        if not calls.height:
            raise EmptyCaptureError(f"{args.path} holds no operators", NO_OPERATORS)
        if args.op is None:
            _list(calls, args.json)
        else:
            _write(_chosen(calls, args.op), args)
        return 0


def _chosen(calls: pl.DataFrame, op: str) -> dict[str, Any]:
    """The call with that id; else the longest call of that name."""
    import polars as pl

    is_id = op.isascii() and op.isdigit() and len(op) < 19  # what 64 bits can hold
    wanted = pl.col("op_id") == int(op) if is_id else pl.col("name").is_in([op, f"aten::{op}"])
    matching = calls.filter(wanted)
    if not matching.height:
        raise UsageError(
            f"there is no operator {op!r} in the recording",
            next_step="Leave out --op for a list of operators.",
        )
    recorded = matching.filter(pl.col("shapes").is_not_null())
    return (recorded if recorded.height else matching).row(0, named=True)


def _write(row: dict[str, Any], args: argparse.Namespace) -> None:
    from rocm_perf.analysis.operators.build import operator_call
    from rocm_perf.render import repro

    call = operator_call(row)
    if call is None:
        raise UsageError(
            f"{row['name']} cannot be rebuilt",
            "its argument shapes were not recorded",
            "Record again with torch.profiler.profile(record_shapes=True).",
        )
    if args.output is None:
        show(repro.script(call, args.iterations).rstrip("\n"))
        return
    repro.write(call, args.output, args.iterations, overwrite=args.force)
    say(f"wrote {args.output}: {call.name}, op {call.op_id}. Run it with: python {args.output}")


def _list(calls: pl.DataFrame, as_json: bool) -> None:
    """List the longest call of each operator and shape, with the time of all such calls."""
    import polars as pl

    kinds = (
        calls.filter(pl.col("shapes").is_not_null() & pl.col("name").str.contains("::", literal=True))
        .group_by("name", "shapes", "dtypes", maintain_order=True)
        .agg(
            pl.col("op_id").first(), pl.len().alias("calls"), pl.col("gpu_ns").sum(), pl.col("host_ns").sum()
        )
        .sort(["gpu_ns", "host_ns", "op_id"], descending=[True, True, False])
        .with_columns(pl.col("shapes", "dtypes").str.replace_all(r"\s+", ""))
    )
    if not kinds.height:
        raise UsageError(
            "no operator of the recording can be rebuilt",
            "argument shapes were not recorded",
            "Record again with torch.profiler.profile(record_shapes=True).",
        )
    if as_json:
        from rocm_perf.render import json

        show_json(json.encode(kinds.to_dicts()))
    else:
        _print(kinds)


def _print(kinds: pl.DataFrame) -> None:
    from rocm_perf.cli.console import result_console
    from rocm_perf.render.grid import grid

    shown = kinds.head(LISTED).select("op_id", "gpu_ns", "calls", "name", "shapes")
    console = result_console()
    console.print(grid(shown, console.width))
    if kinds.height > LISTED:
        show(f"{kinds.height - LISTED:,} more (--json shows all)")
    show("Write one with: rocm-perf repro PATH --op ID -o repro.py")
