"""`rocm-perf compare`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import named_path, positive
from rocm_perf.cli.output import show_json
from rocm_perf.cli.progress import reading_progress

if TYPE_CHECKING:
    from rocm_perf.model.finding import Finding
    from rocm_perf.model.trace import Trace


class CompareCommand:
    """What changed between two recordings, and which parts of the time account for it.

    BASE and NEW are anything that `analyze` takes, in the same or different formats. Differences are NEW - BASE.
    """

    name = "compare"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("base", metavar="BASE", type=named_path, help="recording before the change")
        parser.add_argument("new", metavar="NEW", type=named_path, help="recording after it")
        parser.add_argument(
            "--top", metavar="N", type=positive, default=10, help="kernels to show (default 10)"
        )
        parser.add_argument(
            "--window",
            choices=("steady", "all"),
            default="steady",
            help="equally many steps of both steady states, if both have steps (the default), or all of both",
        )
        parser.add_argument("--as-one", action="store_true", help="treat all files of a folder as one run")
        parser.add_argument("--json", action="store_true", help="print everything as JSON")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.analysis.compare.recordings import compare
        from rocm_perf.analysis.phases.focus import alike
        from rocm_perf.ingest.load import load

        with reading_progress():
            base, new = (load(path, as_one=args.as_one) for path in (args.base, args.new))
        findings = _findings(base, str(args.base)), _findings(new, str(args.new))
        if args.window == "steady":
            base, new = alike(base, new)
        comparison = compare(base, new, _labels(args.base, args.new), findings)
        if args.json:
            from rocm_perf.render import json

            show_json(json.encode(comparison))
            return 0
        from rocm_perf.cli.console import result_console
        from rocm_perf.render.screen.comparison import print_comparison

        print_comparison(comparison, result_console(), args.top)
        return 0


def _findings(trace: Trace, label: str) -> tuple[Finding, ...]:
    from rocm_perf.analysis.overview import examine
    from rocm_perf.analysis.trust.sanity import sanity

    document = examine(trace, label)
    return (*document.findings, *document.coverage.holes, *sanity(trace))


def _labels(base: Path, new: Path) -> tuple[str, str]:
    """The file names, or the whole paths where the names are the same."""
    return (base.name, new.name) if base.name != new.name else (str(base), str(new))
