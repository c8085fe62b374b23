"""`rocm-perf analyze`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.progress import reading_progress
from rocm_perf.errors import RocmPerfError

if TYPE_CHECKING:
    from rocm_perf.ingest.load import Loaded
    from rocm_perf.model.document import Document


class AnalyzeCommand:
    """Where the time goes in a recording, and how complete it is.

    PATH is anything a profiler wrote: a file, a .gz, .zst or .zip of one, the folder of a run, or a bundle.
    Several paths are reported one after another; files of one process count as one.
    """

    name = "analyze"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "paths", metavar="PATH", nargs="+", type=Path, help="recording, folder of one run, or bundle"
        )
        parser.add_argument(
            "-o", "--output", metavar="DIR", type=Path, help="also write profile.json and analysis.json there"
        )
        parser.add_argument(
            "--top", metavar="N", type=_positive, default=None, help="kernels to show (default 10)"
        )
        parser.add_argument(
            "--by",
            choices=("full", "short"),
            default="full",
            help="tell kernels apart by full or by short name",
        )
        parser.add_argument("--full-names", action="store_true", help="show kernel names whole")
        parser.add_argument(
            "--each", action="store_true", help="report on every run of a folder that holds several"
        )
        parser.add_argument("--as-one", action="store_true", help="take all files of a folder as one run")
        parser.add_argument("--force", action="store_true", help="replace files in DIR")
        parser.add_argument("--json", action="store_true", help="everything, as JSON")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.analysis.overview import overview

        with reading_progress():
            loaded = _load(args.paths, args.each, args.as_one)
        documents = [overview(run.trace, run.label, args.by) for run in loaded if run.trace]
        errors = [(run.label, run.error) for run in loaded if run.error]
        if args.output:
            _write(documents, args.output, args.force)
        _show(documents, errors, args)
        for _, error in errors:
            print(f"rocm-perf: {error}", file=sys.stderr)
        return errors[0][1].exit_code if errors else 0


def _load(paths: list[Path], each: bool, as_one: bool) -> list[Loaded]:
    from rocm_perf.ingest import load

    if len(paths) == 1 and not each:
        return [load.Loaded(str(paths[0]), load.load(paths[0], as_one=as_one))]
    return load.load_files(paths)


def _show(
    documents: list[Document], errors: list[tuple[str, RocmPerfError]], args: argparse.Namespace
) -> None:
    if args.json:
        from rocm_perf.render import json

        print(json.documents(documents, errors))
        return
    from rich.console import Console

    from rocm_perf.render.terminal import View, print_document

    several = len(documents) > 1
    console = Console(highlight=False)
    view = View(args.top or (3 if several else 10), args.full_names, several, console.width)
    for number, document in enumerate(documents):
        if number:
            console.print()
        print_document(document, console, view)


def _write(documents: list[Document], folder: Path, force: bool) -> None:
    from rocm_perf.render.files import write_documents

    write_documents(documents, folder, overwrite=force)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value
