"""`rocm-perf list-counters --sets`: the sets of counters on a chip, and files of them for the profilers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rocm_perf.arch.counter_sets import counter_sets, resolve_set
from rocm_perf.arch.passes import kept_together, plan_passes
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.errors import UsageError
from rocm_perf.files import write_whole
from rocm_perf.units import format_count

SCHEMA_VERSION = 1


def show_sets(args: argparse.Namespace) -> int:
    """List every set with its passes, and write their files where that is asked for."""
    sets = {name: _described(name, args.arch, args.rocm) for name in counter_sets()}
    if args.write:
        _write(sets, args.write, overwrite=args.force)
    elif args.json:
        from rocm_perf.render import json

        show_json(json.encode({"schema_version": SCHEMA_VERSION, "gfx": args.arch, "sets": sets}))
    else:
        show(f"sets of counters on {args.arch}", *_lines(sets))
    return 0


def _described(name: str, gfx: str, rocm: str | None) -> dict[str, Any]:
    resolved = resolve_set(name, gfx, rocm)
    plan = plan_passes(resolved.counters, gfx, rocm, kept_together(resolved.counters, gfx, rocm))
    return {
        "title": counter_sets()[name].title,
        "passes": [list(each.ask) for each in plan.passes],
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


def _write(sets: Mapping[str, Mapping[str, Any]], folder: Path, *, overwrite: bool) -> None:
    """One file for each set that the chip has counters of: a `pmc:` line per pass, as rocprofv3 -i takes it."""
    written = {name: known for name, known in sets.items() if known["passes"]}
    if not written:
        raise UsageError("there is nothing to write", "this chip has no counters that any set names")
    for name, known in written.items():
        text = "".join(f"pmc: {' '.join(names)}\n" for names in known["passes"])
        content = f"# {known['title']}\n{text}"
        write_whole(
            folder / f"{name}.txt",
            lambda draft, content=content: draft.write_text(content, encoding="utf-8"),  # type: ignore[misc]
            overwrite=overwrite,
        )
    say(f"wrote {format_count(len(written), 'file')} to {folder}")
