"""Limits on a comparison, for verbs that compare: the options, and the file for a CI system."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import named_path
from rocm_perf.cli.output import say
from rocm_perf.errors import NotSupportedError, UsageError
from rocm_perf.units import format_count

if TYPE_CHECKING:
    from rocm_perf.analysis.compare.gates.expressions import Expression
    from rocm_perf.model.results.check import Check

_EXIT_FAILED = 1
_EXIT_UNDECIDED = NotSupportedError.exit_code


def add_checks(parser: argparse.ArgumentParser, *examples: str) -> None:
    """The options that set limits and report on them."""
    listed = ", ".join(f'"{example}"' for example in examples).replace("%", "%%")
    parser.add_argument(
        "--fail-on",
        metavar="LIMIT",
        nargs="+",
        action="extend",
        default=[],
        help=f"exit with 1 if one of these is exceeded, with 4 if the runs do not show whether it is kept: {listed}",
    )
    parser.add_argument("--junit", metavar="F.xml", type=named_path, help="write the checks as JUnit XML")
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def expressions_of(args: argparse.Namespace) -> list[Expression]:
    """The limits of `--fail-on`."""
    from rocm_perf.analysis.compare.gates.expressions import parse

    if args.junit and not args.fail_on:
        raise UsageError("--junit has nothing to report", "it reports on limits", 'Add --fail-on "wall>3%".')
    return [parse(text) for text in args.fail_on]


def write_junit(checks: Sequence[Check], args: argparse.Namespace, suite: str) -> None:
    """Write the file of `--junit`, if it was asked for."""
    if not args.junit:
        return
    from rocm_perf.files import write_whole
    from rocm_perf.render.report.junit import junit

    text = junit(checks, suite)
    write_whole(args.junit, lambda draft: draft.write_text(text, encoding="utf-8"), overwrite=args.force)
    say(f"wrote {args.junit}")


def exit_code_of(checks: Sequence[Check]) -> int:
    """Return 0 if all limits are kept, 1 if one is exceeded, and 4 if it is undecided whether one is; a line on stderr
    names those that are not kept."""
    exceeded, undecided = (
        [check.expression for check in checks if check.outcome == outcome]
        for outcome in ("failed", "undecided")
    )
    if not exceeded and not undecided:
        return 0
    limits = format_count(len(checks), "limit")
    counted = [
        f"{len(names)} of {limits} {word}: {', '.join(map(repr, names))}"
        for names, word in ((exceeded, "exceeded"), (undecided, "undecided"))
        if names
    ]
    more = " (neither kept nor exceeded for certain: the checks say why)" if undecided else ""
    say(f"{'; '.join(counted)}{more}")
    return _EXIT_FAILED if exceeded else _EXIT_UNDECIDED
