"""`rocm-perf report`."""

from __future__ import annotations

import argparse

from rocm_perf.cli.arguments import named_path
from rocm_perf.cli.judged import add_ceilings
from rocm_perf.cli.output import say, show
from rocm_perf.cli.progress import reading_progress
from rocm_perf.errors import UsageError


class ReportCommand:
    """Write the analysis of a recording as a Markdown report.

    Without -o it goes to stdout.
    """

    name = "report"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "path", metavar="PATH", type=named_path, help="recording, folder of one run, or bundle"
        )
        parser.add_argument("-o", "--output", metavar="F.md", type=named_path, help="file to write")
        parser.add_argument("--as-one", action="store_true", help="take all files of a folder as one run")
        add_ceilings(parser)
        parser.add_argument("--force", action="store_true", help="replace the file")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.analysis.overview import examine
        from rocm_perf.bench.ceilings.store import chosen
        from rocm_perf.files import write_whole
        from rocm_perf.ingest import load
        from rocm_perf.render.report.markdown import markdown

        if args.output and args.output.suffix != ".md":
            raise UsageError(f"cannot write {args.output}", next_step="A report is a .md file.")
        with reading_progress():
            trace = load.load(args.path, as_one=args.as_one)
        text = markdown(examine(trace, str(args.path), machines=chosen(args.ceilings)))
        if args.output is None:
            show(text.rstrip("\n"))
            return 0
        write_whole(args.output, lambda draft: draft.write_text(text, encoding="utf-8"), overwrite=args.force)
        say(f"wrote {args.output}")
        return 0
