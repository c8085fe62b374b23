"""Numbers and paths on the command line, checked where they are read."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocm_perf.errors import UsageError
from rocm_perf.memory import parse_size

if TYPE_CHECKING:
    from rocm_perf.model.time_window import TimeWindow

_MOST = 2**31 - 1  # fits wherever such a number is passed on
# The part that repeats, or the work where nothing does; the whole recording.
_NAMED_WINDOWS = ("steady", "all")
# What a file is called, and how to get one there.
_FILES = frozenset(
    (".csv", ".json", ".txt", ".db", ".pftrace", ".proto", ".html", ".md", ".svg", ".pdf", ".xlsx", ".log")
)
_OF_FILES = {
    ".csv": "; rocm-perf export RECORDING -o F.csv writes a table, profile -f csv the profiler's own",
    ".json": "; rocm-perf analyze RECORDING --json prints JSON",
    ".html": "; rocm-perf report RECORDING -o F.html writes the page",
    ".pftrace": "; rocm-perf export RECORDING -o F.pftrace writes a trace for Perfetto",
    ".db": "; rocm-perf export RECORDING -o F.db writes a database",
}
_LONGEST_S = 1e6  # eleven days; the system cannot wait much longer at once


class Parser(argparse.ArgumentParser):
    """A parser that says which option was probably meant. `rewritten` changes arguments that argparse cannot read."""

    rewritten: Callable[[list[str]], list[str]] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.rewritten is not None and args is not None:
            args = self.rewritten(list(args))
        return super().parse_known_args(args, namespace)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{_meant(unknown, self._options(parsed))}")
        return parsed

    def _options(self, parsed: Any) -> list[str]:
        """The options of this parser and of the verb that was chosen."""
        verbs = (action.choices for action in self._actions if isinstance(action, argparse._SubParsersAction))
        chosen = (choices.get(getattr(parsed, "verb", "")) for choices in verbs)
        parsers = [self, *(parser for parser in chosen if parser is not None)]
        return [option for parser in parsers for option in parser._option_string_actions]


def _meant(unknown: Sequence[str], options: Sequence[str]) -> str:
    given = next((word.partition("=")[0] for word in unknown if word.startswith("-")), "")
    from difflib import get_close_matches

    near = get_close_matches(given, options, n=1) if given else []
    return f" (did you mean {near[0]}?)" if near else ""


def positive(text: str) -> int:
    """A whole number, 1 or more."""
    return _whole(text, 1)


def count(text: str) -> int:
    """A whole number, 0 or more."""
    return _whole(text, 0)


def named_path(text: str) -> Path:
    """A path; an empty one, as of a variable that is not set, would mean the working directory."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
    return Path(text)


def new_folder(text: str) -> Path:
    """A folder to write, which need not exist; a name that only a file would have is refused."""
    path = named_path(text)
    if path.suffix.lower() in _FILES and not path.is_dir():
        raise UsageError(
            f"{text} is the name of a file, and a folder is to be named here",
            f"write {path.with_suffix('')} for a folder{_OF_FILES.get(path.suffix.lower(), '')}",
        )
    return path


def seconds(text: str) -> float:
    """A number of seconds, more than 0 and not forever."""
    try:
        value = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from error
    if not 0 < value <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"must be more than 0 and at most {_LONGEST_S:,.0f} seconds")
    return value


def number(text: str) -> float:
    """Any finite number."""
    try:
        value = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from error
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError("must be finite")
    return value


def rate(text: str) -> float:
    """A rate above zero, in the unit of the option."""
    value = number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError("must be more than 0")
    return value


def share(text: str) -> float:
    """A share, as a percentage (3%) or a fraction (0.03)."""
    value = number(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if value < 0:
        raise argparse.ArgumentTypeError("must be a share, such as 3% or 0.03")
    return value


def size(text: str) -> int:
    """A number of bytes, with or without a unit."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def window(text: str) -> TimeWindow | str:
    """A window of a recording, A..B, or one that has a name."""
    if text in _NAMED_WINDOWS:
        return text
    from rocm_perf.model.time_window import parse_window

    try:
        return parse_window(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def read_separator_as(option: str, parser: argparse.ArgumentParser) -> None:
    """Let `--` stand for an option: argparse forgets where it was among the arguments."""
    parse = parser.parse_known_args

    def parse_known_args(args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        return parse([option if argument == "--" else argument for argument in args or ()], namespace)

    parser.parse_known_args = parse_known_args  # type: ignore[method-assign,assignment]


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from error
    if not least <= value <= _MOST:
        raise argparse.ArgumentTypeError(f"must be from {least} to {_MOST:,}")
    return value


def gpu_name(text: str) -> str:
    """The name of a GPU of the catalogue."""
    from rocm_perf.arch.catalog import find_gpu

    return find_gpu(text).name


def add_captures(parser: argparse.ArgumentParser) -> None:
    """Add the option of verbs that read recordings."""
    parser.add_argument(
        "--capture",
        metavar="CAP",
        dest="captures",
        nargs="+",
        action="extend",
        type=named_path,
        default=[],
        help="recordings of the capture of its graphs, which say what launched each kernel of a replay (those in the "
        "folder of PATH are found by themselves)",
    )


def add_no_color(parser: argparse._ActionsContainer) -> None:
    """Add the option of verbs that print documents."""
    parser.add_argument("--no-color", action="store_true", help="print without colours, as with NO_COLOR set")
