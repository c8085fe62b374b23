"""`rocm-perf ceilings`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import count, named_path
from rocm_perf.cli.output import say, show_json
from rocm_perf.cli.progress import show_measuring
from rocm_perf.errors import InputError

if TYPE_CHECKING:
    from rocm_perf.model.machine_ceilings import MachineCeilings


class CeilingsCommand:
    """Measure what this machine's GPU reaches, for use in place of data-sheet peaks.

    Bandwidth of memory, L2 and LDS, rates by data type, launches, waits and copies. The result is kept per GPU; from
    then on, analyses of recordings of the same model use it. It takes about a minute, in which nothing else should run.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--device",
            metavar="N",
            type=count,
            default=0,
            help="which GPU, as programs count them (default 0)",
        )
        parser.add_argument("--show", action="store_true", help="show what was measured before")
        parser.add_argument(
            "-o", "--output", metavar="FILE", type=named_path, help="write to this file instead"
        )
        parser.add_argument("--json", action="store_true", help="print everything as JSON, with all samples")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.bench.ceilings.store import ceilings_folder, chosen

        if args.show:
            kept = chosen()
            if not kept:
                raise InputError(
                    "nothing was measured yet", f"{ceilings_folder()} is empty", "Run rocm-perf ceilings."
                )
            _print(kept, as_json=args.json)
            return 0
        _print((_measured(args),), as_json=args.json)
        return 0


def _measured(args: argparse.Namespace) -> MachineCeilings:
    """Measure, and keep the result."""
    from rocm_perf.backends.probe import probe_machine
    from rocm_perf.bench.ceilings.measure import measure
    from rocm_perf.bench.ceilings.store import read, save

    progress = show_measuring if sys.stderr.isatty() else lambda _: None
    try:
        ceilings = measure(probe_machine(), args.device, progress)
    finally:
        progress("")
    path = save(ceilings, args.output)
    say(f"kept in {path}")
    return read(path)


def _print(measured: tuple[MachineCeilings, ...], *, as_json: bool) -> None:
    if as_json:
        from rocm_perf.model.machine_ceilings import SCHEMA_VERSION
        from rocm_perf.render import json

        show_json(json.encode({"schema_version": SCHEMA_VERSION, "ceilings": list(measured)}))
        return
    from rocm_perf.arch.matching import match
    from rocm_perf.cli.console import result_console
    from rocm_perf.render.screen.ceilings import ceilings_blocks

    console = result_console()
    for ceilings in measured:
        for block in ceilings_blocks(ceilings, match(ceilings.gpu.agent).gpu, console.width):
            console.print(block)
