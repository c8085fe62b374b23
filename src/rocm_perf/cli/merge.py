"""`rocm-perf merge`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import named_path, new_folder
from rocm_perf.cli.output import say, show_json
from rocm_perf.cli.reading import reading
from rocm_perf.units import format_count

if TYPE_CHECKING:
    from rocm_perf.model.trace import Trace

SCHEMA_VERSION = 1


class MergeCommand:
    """Make one recording of those of many ranks, on one clock.

    PATH is a recording, a folder or a bundle; all of them together are one job. Collectives are matched across ranks,
    and offset and drift of each clock are fitted on their ends; what the ends still differ by is shown for each rank,
    and a rank that does not fit keeps its own clock, with the reason. A file that cannot be read is reported, and the
    others are merged. `rocm-perf analyze DIR` does the same by itself.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("paths", metavar="PATH", nargs="+", type=named_path, help="recordings of ranks")
        parser.add_argument(
            "-o", "--output", metavar="BUNDLE", type=new_folder, required=True, help="folder to write"
        )
        parser.add_argument("--force", action="store_true", help="replace a bundle that is there")
        parser.add_argument("--json", action="store_true", help="the clocks of the ranks as JSON")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.analysis.trust.clocks import clocks
        from rocm_perf.ingest.load_job import load_job
        from rocm_perf.model import bundle
        from rocm_perf.render.sections.clocks import clock_lines
        from rocm_perf.text import encode_json

        with reading():
            trace = load_job(args.paths)
        bundle.write(trace, args.output, overwrite=args.force)
        for loss in trace.run.losses:
            say(f"lost: {loss.what}")
        quality = clocks(trace)
        if args.json:
            document = {"schema_version": SCHEMA_VERSION, "bundle": str(args.output), "clocks": quality}
            show_json(encode_json(document).decode())
            return 0
        say(f"{args.output}: {_content(trace)}")
        for line in () if quality.unavailable else clock_lines(quality):
            say(line)
        return 0


def _content(trace: Trace) -> str:
    processes = trace.table("processes")
    ranks = processes["rank"].drop_nulls().n_unique()
    who = format_count(ranks, "rank") if ranks else format_count(processes.height, "process", "processes")
    kernels = format_count(trace.rows("dispatches"), "dispatch", "dispatches")
    return f"{who} on {format_count(trace.rows('nodes'), 'machine')}, {kernels}"
