"""`rocm-perf serve`."""

from __future__ import annotations

import argparse
import sys
import threading
import time
import webbrowser
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import named_path, seconds
from rocm_perf.cli.judged import add_ceilings
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.serve import LONGEST_JOB_S

if TYPE_CHECKING:
    from rocm_perf.serve.server import Serving

_HIGHEST_PORT = 65_535
_PAUSE_S = 0.5  # a signal that comes right before a pause does not shorten it


class ServeCommand:
    """Show the runs of some folders in a browser: a list, each report, two or more beside each other, Perfetto.

    The page is on this machine alone, at an address with a random token. Reports are made when they are opened.
    With --watch a new recording appears by itself. Ctrl-C ends it.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "paths",
            metavar="PATH",
            nargs="+",
            type=named_path,
            help="recordings, bundles, and folders to look for them in",
        )
        parser.add_argument("--watch", action="store_true", help="keep looking for new recordings")
        parser.add_argument(
            "--port", metavar="N", type=port, default=0, help="port to use (default: one that is free)"
        )
        parser.add_argument("--no-open", action="store_true", help="do not open a browser")
        parser.add_argument(
            "--job-limit",
            metavar="S",
            type=seconds,
            default=LONGEST_JOB_S,
            help=f"end an analysis that takes longer (default {LONGEST_JOB_S:.0f} seconds)",
        )
        add_ceilings(parser)
        parser.add_argument(
            "--json", action="store_true", help="print the address and the runs as one line of JSON"
        )

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.bench.ceilings.store import chosen
        from rocm_perf.serve.server import serving

        machines = chosen(args.ceilings)
        try:
            with serving(
                args.paths,
                port=args.port,
                watch=args.watch,
                machines=machines,
                job_limit_s=args.job_limit,
            ) as server:
                _announce(server, as_json=args.json)
                if not args.no_open:
                    _open(server)
                while True:  # until a signal; waiting for an Event would not survive its exception
                    time.sleep(_PAUSE_S)
        except KeyboardInterrupt:
            say("stopped")
        return 0


def port(text: str) -> int:
    """The number of a port; 0 for any that is free."""
    if not text.isdecimal() or int(text) > _HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"must be a whole number up to {_HIGHEST_PORT:,}")
    return int(text)


def _announce(server: Serving, *, as_json: bool) -> None:
    from rocm_perf.text import compact_json
    from rocm_perf.units import format_count

    runs = server.folders.runs
    if as_json:
        listed = [{"id": run.id, "name": run.name, "format": run.tool, "error": run.error} for run in runs]
        show_json(compact_json({"schema_version": 1, "url": server.url, "runs": listed}).decode())
        return
    show(server.url)
    sys.stdout.flush()  # whoever reads it through a pipe waits for it
    say(f"{format_count(len(runs), 'run')}; Ctrl-C ends it")


def _open(server: Serving) -> None:
    """Open a browser through a private file: an argument of a program could be seen by every user of the machine."""
    page = server.folder / "open.html"
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={server.url}">')
    threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
