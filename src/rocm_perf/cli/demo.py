"""`rocm-perf demo`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import add_no_color, new_folder

if TYPE_CHECKING:
    from rich.console import Console

    from rocm_perf.model.document import Document

DEVICE = "sim:MI300X"
BEFORE, AFTER = "sync_in_loop", "sync_hoisted"
OUTPUT = Path("demo-output")
ROWS = 6  # of each table
NEXT = (
    ("rocm-perf profile -- ./app", "record it and say why it is slow"),
    ("rocm-perf analyze PATH", "the same of what was recorded before, by any profiler"),
    ("rocm-perf report PATH", "the same as a page"),
)


class DemoCommand:
    """See it work without a GPU: a slow loop on a simulated MI300X, why it is slow, and the fixed loop beside it.

    Writes both recordings, as bundles, a Markdown report on both, and a page about the slow one.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "-o",
            "--output",
            metavar="DIR",
            type=new_folder,
            default=OUTPUT,
            help=f"folder to write to (default {OUTPUT})",
        )
        add_no_color(parser)

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.cli.console import result_console
        from rocm_perf.render.lines import paragraph, show, uncut
        from rocm_perf.render.report import side_by_side

        console = result_console(no_color=args.no_color)
        folder: Path = args.output
        _say(console, "1. An inference loop that synchronises after every kernel", _command(BEFORE))
        before = _profile(BEFORE, folder, console)
        _say(
            console,
            "2. What removing the waits would save",
            "projected from the recording alone",
        )
        _project(before, console)
        _say(console, "3. The fixed loop: one synchronisation at the end", _command(AFTER))
        after = _profile(AFTER, folder, console)
        _say(console, "4. Side by side", "")
        console.print(side_by_side.terminal(before, after, console.width))
        console.print(f"[dim]{side_by_side.CAVEAT}[/]")
        show(console, uncut((f"Part by part: rocm-perf compare {folder / BEFORE} {folder / AFTER}", "dim")))
        _write_markdown(before, after, folder / "report.md")
        page = _write_page(folder / BEFORE, folder / "report.html")
        _say(console, "Now with your own program", "")
        for command, purpose in NEXT:
            show(console, uncut(f"{command:<28}", (purpose, "dim")))
        _say(
            console,
            "The slow loop as a page, for any browser",
            "no network, no other file: it can be passed around",
        )
        show(console, uncut(page.resolve().as_uri()))
        show(console, uncut(f"rocm-perf serve {folder}", ("   both runs beside each other", "dim")))
        console.print()
        written = f"Written: {folder / BEFORE}, {folder / AFTER} (bundles), {folder / 'report.md'}, {page}"
        for row in paragraph(written, console.width, style="dim"):
            show(console, row)
        return 0


def _command(name: str) -> str:
    return f"rocm-perf profile --device {DEVICE} -- examples/workloads/{name}.toml"


def _say(console: Console, title: str, detail: str) -> None:
    console.print(f"\n[bold cyan]{title}[/]")
    if detail:
        console.print(f"[dim]$ {detail}[/]" if detail.startswith("rocm-perf") else f"[dim]{detail}[/]")
    console.print()


def workload_file(name: str) -> Path:
    """The path of a workload of examples/workloads, in the installed package or in the checkout run in place."""
    from importlib import resources

    packaged = Path(str(resources.files("rocm_perf.sim") / "workloads" / f"{name}.toml"))
    in_checkout = Path(__file__).parents[3] / "examples" / "workloads" / packaged.name
    return packaged if packaged.exists() else in_checkout


def _profile(name: str, folder: Path, console: Console) -> Document:
    from rocm_perf import api
    from rocm_perf.analysis.overview import examine
    from rocm_perf.model import bundle
    from rocm_perf.render.screen.drawn import characters_of
    from rocm_perf.render.screen.terminal import View, print_document

    trace = api.simulate(workload_file(name), DEVICE)
    bundle.write(trace, folder / name, overwrite=True)
    document = examine(trace, str(folder / name))
    print_document(document, console, View(top=ROWS, width=console.width, characters=characters_of(console)))
    return document


def _project(before: Document, console: Console) -> None:
    from rocm_perf.sim import changes
    from rocm_perf.sim.gpu import find_gpu
    from rocm_perf.sim.workload import read_workload
    from rocm_perf.units import format_ns

    workload, gpu = read_workload(workload_file(BEFORE)), find_gpu(DEVICE)
    then = changes.wall_if(workload, gpu, changes.SyncsHoisted())
    for projection in before.projections[:1]:
        change = f"{format_ns(projection.recorded_wall_ns)} -> {format_ns(projection.wall_ns)}"
        console.print(f"{change}, [bold]{projection.speedup.value:.2f}x faster[/]")
        console.print(f"[dim]Simulating the loop without the waits takes {format_ns(then)}.[/]")


def _write_markdown(before: Document, after: Document, path: Path) -> None:
    from rocm_perf.files import write_whole
    from rocm_perf.render.report import side_by_side
    from rocm_perf.render.report.markdown import markdown

    text = "\n".join([side_by_side.as_markdown(before, after), markdown(before), markdown(after)])
    write_whole(path, lambda draft: draft.write_text(text, encoding="utf-8"), overwrite=True)


def _write_page(recording: Path, path: Path) -> Path:
    from rocm_perf import api

    return api.report(recording).save(path, overwrite=True)
