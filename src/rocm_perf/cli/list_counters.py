"""`rocm-perf list-counters`."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import new_folder
from rocm_perf.cli.output import show, show_json
from rocm_perf.errors import UsageError

if TYPE_CHECKING:
    from rocm_perf.arch.counters import Counter, Definitions

SCHEMA_VERSION = 1


class ListCountersCommand:
    """The counters of any GPU, with no GPU needed.

    Block by block, with how many of a block fit into one pass. --search looks into names and descriptions, shows how
    derived counters are computed, and explains a name that the chip does not have. --plan shows how few runs of the
    application record given counters, metrics, or sets of counters such as compute_bound. --sets lists those sets, and
    --write leaves a file of each for rocprofv3 -i. Without --arch it is about this machine's GPU, and without --rocm
    about the ROCm release that is installed here, or else the newest known one.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--arch", metavar="GFX", help="chip, such as gfx942 (default: this machine's GPU)"
        )
        parser.add_argument(
            "--search", metavar="TEXT", help="only those with TEXT in their name or description"
        )
        parser.add_argument(
            "--rocm",
            metavar="RELEASE",
            help="as of this ROCm release (default: that of this machine, or else the newest known)",
        )
        parser.add_argument(
            "--plan", metavar="NAME", nargs="+", help="passes for these counters, metrics or sets of counters"
        )
        parser.add_argument(
            "--sets", action="store_true", help="the sets of counters, and the passes of each"
        )
        parser.add_argument(
            "--write", metavar="DIR", type=new_folder, help="with --sets: write NAME.txt of each"
        )
        parser.add_argument("--force", action="store_true", help="replace those files")
        kind = parser.add_mutually_exclusive_group()
        kind.add_argument("--hardware", action="store_true", help="only what the hardware counts")
        kind.add_argument("--derived", action="store_true", help="only what is computed from others")
        parser.add_argument("--json", action="store_true", help="print everything as JSON")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.arch.counters import definitions
        from rocm_perf.backends.probe import rocm_here

        args.arch = args.arch or _this_gpu()
        args.rocm = args.rocm or rocm_here(os.environ) or None
        if args.write and not args.sets:
            raise UsageError("--write needs --sets", "it writes a file for each set of counters")
        if args.sets:
            from rocm_perf.cli.counter_sets import show_sets

            return show_sets(args)
        if args.plan:
            return _plan(args)
        chip = definitions(args.arch, args.rocm)
        shown = [counter for counter in chip.counters.values() if _wanted(counter, args)]
        meaning = _meaning(chip, args) if args.search else ""
        if args.json:
            _print_json(chip, shown, meaning, args.rocm)
        else:
            _print(chip, shown, meaning, args)
        return 0


def _this_gpu() -> str:
    """The chip of this machine's first GPU."""
    from rocm_perf.backends.probe import probe_machine

    chips = [gpu.gfx for gpu in probe_machine().gpus if gpu.vendor == "AMD"]
    if not chips:
        raise UsageError(
            "no AMD GPU was found whose counters could be listed", "", "Name a chip: --arch gfx942."
        )
    return chips[0]


def _plan(args: argparse.Namespace) -> int:
    """Print the passes, and the input file for rocprofv3 (or rocprof) that requests them."""
    from rocm_perf.arch.counter_sets import plan_with_sets, set_name
    from rocm_perf.arch.counters import definitions
    from rocm_perf.cli.counter_sets import newer_release

    plan, notes = plan_with_sets([set_name(name) or name for name in args.plan], args.arch, args.rocm)
    if plan is None:
        raise UsageError(
            f"none of {' '.join(args.plan)} can be counted on {args.arch}",
            definitions(args.arch, args.rocm).note,
            newer_release(args.arch, args.rocm),
        )
    if args.json:
        from rocm_perf.render import json

        show_json(json.encode({"schema_version": SCHEMA_VERSION, "plan": plan, "notes": notes}))
        return 0
    show(*plan.describe(), *notes, "", "As an input file (rocprofv3 -i pmc.txt):")
    show(*(f"pmc: {' '.join(run.ask)}" for run in plan.passes))
    return 0


def _wanted(counter: Counter, args: argparse.Namespace) -> bool:
    if (args.hardware and counter.derived) or (args.derived and not counter.derived):
        return False
    text = (args.search or "").lower()
    return text in counter.name.lower() or text in counter.description.lower()


def _meaning(chip: Definitions, args: argparse.Namespace) -> str:
    """What a name from a guide, or from another chip, means on this chip."""
    from rocm_perf.arch.counter_names import resolve

    resolution = resolve(args.search, chip.gfx, args.rocm)
    return "" if resolution.standing == "unknown" else resolution.describe()


def _print(chip: Definitions, shown: list[Counter], meaning: str, args: argparse.Namespace) -> None:
    from rocm_perf.arch.counter_names import nearest
    from rocm_perf.arch.counters import block, blocks
    from rocm_perf.cli.console import result_console
    from rocm_perf.render.screen.counters import print_counters

    console = result_console()
    facts = {name: block(name) for name in blocks(chip.gfx, args.rocm)}
    print_counters(chip, shown, facts, console, formulas=bool(args.search))
    if meaning:
        show("", meaning)
    elif not shown and chip.counters:
        near = nearest(args.search, chip.gfx, args.rocm)
        similar = f"; similar names: {', '.join(near)}" if near else ""
        show("", f"no counter matches {args.search[:60]!r}{similar}")


def _print_json(chip: Definitions, shown: list[Counter], meaning: str, rocm: str | None) -> None:
    from rocm_perf.arch.counters import block
    from rocm_perf.render import json

    names = sorted({counter.block for counter in shown if counter.block})
    document = {
        "schema_version": SCHEMA_VERSION,
        "gfx": chip.gfx,
        "rocm": chip.rocm,
        "note": chip.note,
        "meaning": meaning,
        "blocks": [
            {"name": name, "slots": block(name).slots, "assumed": block(name).assumed} for name in names
        ],
        "counters": [_record(chip.gfx, counter, rocm) for counter in shown],
    }
    show_json(json.encode(document))


def _record(gfx: str, counter: Counter, rocm: str | None) -> dict[str, object]:
    from rocm_perf.arch.counters import hardware_counters

    return {
        "name": counter.name,
        "block": counter.block,
        "description": counter.description,
        "expression": None if counter.expression is None else str(counter.expression),
        "hardware_counters": sorted(hardware_counters(gfx, counter.name, rocm)),
        "releases": list(counter.releases),
    }
