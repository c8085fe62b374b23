"""`rocm-perf list-counters --sets`: the sets of counters on a chip, and files of them for the profilers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rocm_perf.arch.counter_sets import counter_sets, plan_with_sets, resolve_set
from rocm_perf.arch.counters import Definitions, definitions
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.errors import UsageError
from rocm_perf.files import write_whole
from rocm_perf.units import format_count

SCHEMA_VERSION = 1


def show_sets(args: argparse.Namespace) -> int:
    """List every set with its passes, and write their files where that is asked for."""
    chip = definitions(args.arch, args.rocm)
    sets = {name: _described(name, args.arch, args.rocm) for name in counter_sets()}
    if args.write:
        _write(sets, chip, args)
    elif args.json:
        from rocm_perf.render import json

        head = {"schema_version": SCHEMA_VERSION, "gfx": args.arch, "rocm": chip.rocm, "note": chip.note}
        show_json(json.encode({**head, "sets": sets}))
    else:
        note = [chip.note] if chip.note else []
        show(f"sets of counters on {args.arch} (as defined by ROCm {chip.rocm})", *note, *_lines(sets))
    return 0


def newer_release(gfx: str, rocm: str | None) -> str:
    """Return what to do where a chip has no counters in this release and newer ones define some."""
    newer = rocm is not None and definitions(gfx).counters
    return f"This is about ROCm {rocm}; --rocm names another release." if newer else ""


def _described(name: str, gfx: str, rocm: str | None) -> dict[str, Any]:
    resolved = resolve_set(name, gfx, rocm)
    plan, _ = plan_with_sets((name,), gfx, rocm)
    return {
        "title": counter_sets()[name].title,
        "passes": [list(each.ask) for each in plan.passes] if plan else [],
        "missing": [each.describe() for each in resolved.dropped],
    }


def _lines(sets: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, known in sets.items():
        yield ""
        passes = (
            format_count(len(known["passes"]), "pass", "passes")
            if known["passes"]
            else "nothing to count here"
        )
        yield f"{name}: {known['title']} ({passes})"
        yield from (f"  {number}: {' '.join(names)}" for number, names in enumerate(known["passes"], start=1))
        if known["missing"]:
            yield f"  without {format_count(len(known['missing']), 'counter')} that this chip does not have"


def _write(sets: Mapping[str, Mapping[str, Any]], chip: Definitions, args: argparse.Namespace) -> None:
    """Write a file for each set that the chip has counters of: a `pmc:` line per pass, as rocprofv3 -i takes it."""
    folder: Path = args.write
    written = {name: known for name, known in sets.items() if known["passes"]}
    if not written:
        why = chip.note or f"{chip.gfx} has no counters that any set names"
        raise UsageError("there is nothing to write", why, newer_release(chip.gfx, args.rocm))
    doubt = f"# {chip.note}\n" if chip.note else ""
    for name, known in written.items():
        text = "".join(f"pmc: {' '.join(names)}\n" for names in known["passes"])
        content = f"# {known['title']}, on {chip.gfx}\n{doubt}{text}"
        write_whole(
            folder / f"{name}.txt",
            lambda draft, content=content: draft.write_text(content, encoding="utf-8"),  # type: ignore[misc]
            overwrite=args.force,
        )
    say(f"wrote {format_count(len(written), 'file')} to {folder}")
    if chip.note:
        say(chip.note)
