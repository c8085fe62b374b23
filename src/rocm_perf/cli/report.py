"""`rocm-perf report`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import add_captures, named_path
from rocm_perf.cli.judged import (
    add_ceilings,
    add_gpu,
    add_window,
    asked_with,
    chosen_part,
    chosen_window,
    named,
)
from rocm_perf.cli.lean import load_libraries
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.cli.reading import reading
from rocm_perf.errors import UsageError
from rocm_perf.units import format_count

if TYPE_CHECKING:
    from rocm_perf.model.document import Document
    from rocm_perf.model.trace import Trace

STDOUT = Path("-")
# The endings of recordings that say nothing of what was recorded.
_RECORDED = frozenset(
    (
        *(".gz", ".zst", ".zip", ".json", ".csv", ".db", ".txt", ".rpd", ".sqlite", ".rptrace", ".pickle"),
        *(".pftrace", ".proto", ".pb", ".xplane", ".pt", ".trace"),
    )
)


class ReportCommand:
    """Write the analysis of a recording as one file to pass around: a page for any browser, or Markdown.

    F.html is a page that needs nothing else: no network, no other file. F.md is Markdown for a pull request or an
    issue, with its pictures as SVG files beside it; - prints it without pictures.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "path", metavar="PATH", type=named_path, help="recording, folder of one run, or bundle"
        )
        parser.add_argument(
            "-o",
            "--output",
            metavar="F",
            type=named_path,
            help="file to write: .html or .md; - prints Markdown (default: the name of PATH with .html, here)",
        )
        parser.add_argument("--as-one", action="store_true", help="take all files of a folder as one run")
        add_captures(parser)
        add_window(parser)
        add_ceilings(parser)
        add_gpu(parser)
        parser.add_argument("--force", action="store_true", help="replace the file")
        parser.add_argument("--open", action="store_true", help="show the page in the browser")
        parser.add_argument("--json", action="store_true", help="print what was written as JSON")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.files import refuse_existing

        if args.output is None:
            args.output = _named_after(args.path)
        output: Path = args.output
        _check(args)
        load_libraries()
        if output == STDOUT:
            _print(_recorded(args)[1])
            return 0
        refuse_existing(output, overwrite=args.force)
        files = _files(*_recorded(args), output)
        _write(files, overwrite=args.force)
        _tell(files, as_json=args.json)
        if args.open:
            _open(output)
        return 0


def _named_after(path: Path) -> Path:
    """The page of a recording in the working directory: results.json.gz becomes results.html."""
    name = path.absolute().name
    while Path(name).suffix.lower() in _RECORDED:
        name = Path(name).stem
    return Path(f"{name.strip('._-') or 'report'}.html")


def _check(args: argparse.Namespace) -> None:
    """Refuse what cannot be written before anything is read."""
    output: Path = args.output
    if output != STDOUT and output.suffix not in (".html", ".md"):
        raise UsageError(
            f"cannot write {output}", next_step="A report is an .html or .md file; -o - prints Markdown."
        )
    if output.suffix != ".html" and args.open:
        raise UsageError("--open shows a page", next_step="Name a file that ends in .html, or leave out -o.")
    if output == STDOUT and args.json:
        raise UsageError("-o - and --json both print", next_step="Leave one of them out.")


def _recorded(args: argparse.Namespace) -> tuple[Trace, Document]:
    """The recording, or the part of it that the options choose, and everything that is said of it."""
    from rocm_perf.analysis.overview import examine, overview
    from rocm_perf.analysis.parts.combine import of_window
    from rocm_perf.bench.ceilings.store import chosen
    from rocm_perf.cli.recording_size import require_room
    from rocm_perf.ingest import load

    window = chosen_window(args)
    require_room([args.path, *args.captures], window)
    with reading():
        whole = load.load(args.path, as_one=args.as_one, window=window, captures=args.captures)
        trace = chosen_part(named(whole, args), args)
    analyse = overview if window or args.window == "all" else examine
    document = analyse(trace, str(args.path), machines=chosen(args.ceilings))
    document = asked_with(document, args)
    return trace, of_window(document, window) if window else document


def _print(document: Document) -> None:
    from rocm_perf.render.report.markdown import markdown

    show(markdown(document).rstrip("\n"))


def _files(trace: Trace, document: Document, output: Path) -> dict[Path, str]:
    """What is written: the page alone, or the pictures of a Markdown report and, once they are there, the report."""
    if output.suffix == ".html":
        from rocm_perf.analysis.timeline.build import timeline
        from rocm_perf.render.page.page import page

        return {output: page(document, timeline(trace, document))}
    from rocm_perf.render.figures.files import picture_files
    from rocm_perf.render.report.markdown import markdown

    pictures = picture_files(document, output.stem)
    drawn = {output.with_name(picture.name): picture.content for picture in pictures.values()}
    return {**drawn, output: markdown(document, pictures)}


def _write(files: Mapping[Path, str], *, overwrite: bool) -> None:
    from rocm_perf.files import refuse_existing, write_whole

    for path in files:
        refuse_existing(path, overwrite=overwrite)
    for path, text in files.items():
        write_whole(path, partial(_fill, text), overwrite=overwrite)


def _fill(text: str, draft: Path) -> None:
    draft.write_text(text, encoding="utf-8")


def _tell(files: Mapping[Path, str], *, as_json: bool) -> None:
    from rocm_perf.text import encode_json

    if as_json:
        written = [{"path": str(path), "bytes": path.stat().st_size} for path in files]
        show_json(encode_json({"files": written}).decode())
        return
    *pictures, report = files
    say(f"wrote {report}" + (f" and {format_count(len(pictures), 'picture')} beside it" if pictures else ""))


def _open(output: Path) -> None:
    """Show the page where there is a browser; where there is none, say so."""
    import webbrowser

    if not webbrowser.open(output.resolve().as_uri()):
        say(f"no browser could be started; open {output} by hand")
