"""Whether what a verb is asked for fits into memory: which windows to read, or why it is refused."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from rocm_perf.cli.judged import chosen_window
from rocm_perf.errors import NotSupportedError, UsageError
from rocm_perf.memory import usable_bytes
from rocm_perf.units import format_count

if TYPE_CHECKING:
    from rocm_perf.ingest.survey import Survey
    from rocm_perf.model.time_window import TimeWindow

_ALWAYS_TRIED = 2  # times what the program takes by itself, however little memory is left
_NOUNS = {
    "dispatches": ("dispatch", "dispatches"),
    "api_calls": ("API call", "API calls"),
    "copies": ("copy", "copies"),
    "events": ("event", "events"),
    "CSV": ("CSV row", "CSV rows"),
    "rows": ("row", "rows"),
}


def windows_of(args: argparse.Namespace) -> list[TimeWindow]:
    """The windows to analyse: the one asked for, those that fit one by one with `--in-parts`, none for all at once.

    Raises NotSupportedError if that takes more memory than may be used.
    """
    chosen = chosen_window(args)
    for option, value in (("--window", chosen), ("--step-kind", args.step_kind)):
        if value is not None and args.in_parts:
            raise UsageError(
                f"{option} and --in-parts exclude each other", next_step="Leave one of them out."
            )
    if (chosen is not None or args.in_parts) and (len(args.paths) > 1 or args.each):
        raise UsageError("a window is that of one recording", next_step="Name one path, without --each.")
    asked = [chosen] if chosen is not None else []
    limit = args.memory or _limit_bytes()
    if limit is None:
        return asked
    survey = _survey([*args.paths, *args.captures], limit)
    if survey.peak_bytes(chosen) <= limit:
        return asked
    parts = survey.windows(limit)
    if args.in_parts and parts:
        return parts
    raise _too_large(args.paths, survey, limit, chosen)


def pieces_of(path: Path, part: TimeWindow | None, memory: int | None) -> list[TimeWindow]:
    """The windows of a recording, or of a part of it, to be read one after another; none to read it at once, because it
    fits, or because nobody asked and it cannot be read otherwise.

    Raises NotSupportedError if it is asked to fit, and no window does.
    """
    limit = memory or _limit_bytes()
    if limit is None:
        return []
    survey = _survey([path], limit)
    if survey.peak_bytes(part) <= limit:
        return []
    windows = survey.windows(limit)
    if not windows and memory:
        raise _too_large([path], survey, limit, part)
    return [window.within(part) for window in windows if window.overlaps(part)] if part else windows


def require_room(paths: Sequence[Path], window: TimeWindow | None = None) -> None:
    """Raises NotSupportedError if the recordings, or the window of the one, take more memory than may be used."""
    limit = _limit_bytes()
    if limit is None:
        return
    survey = _survey(paths, limit)
    if survey.peak_bytes(window) > limit:
        raise _too_large(paths, survey, limit, window)


def _limit_bytes() -> int | None:
    from rocm_perf.ingest.survey import FLOOR_BYTES

    usable = usable_bytes()
    return None if usable is None else max(usable, _ALWAYS_TRIED * FLOOR_BYTES)


def _survey(paths: Sequence[Path], limit: int) -> Survey:
    from rocm_perf.ingest.size import survey_paths

    return survey_paths(list(paths), limit)


def _too_large(
    paths: Sequence[Path], survey: Survey, limit: int, asked: TimeWindow | None
) -> NotSupportedError:
    where = f"the window {asked} of {paths[0]}" if asked else ", ".join(map(str, paths))
    return NotSupportedError(
        f"{where} does not fit into memory",
        f"{_rows(survey, asked)} about {_size(survey.peak_bytes(asked))} to analyse, and {_size(limit)} may be used",
        _next_step(paths, survey, limit),
    )


def _rows(survey: Survey, asked: TimeWindow | None) -> str:
    """The rows of the large tables, and the verb for what is needed for them or for the window."""
    large = sum(survey.rows.values()) / 100
    counts = " and ".join(_count(name, rows) for name, rows in survey.rows.items() if rows > large)
    if not counts:
        return "even a small recording takes"
    return f"this part of about {counts} takes" if asked else f"about {counts} take"


def _next_step(paths: Sequence[Path], survey: Survey, limit: int) -> str:
    windows = survey.windows(limit) if len(paths) == 1 else []
    if len(windows) > 1:
        command = f"rocm-perf analyze {quote(str(paths[0]))} --memory {limit}"
        return (
            f"Analyse a part that fits: {command} --window {windows[0]}; or all of it in {len(windows)} parts: "
            f"{command} --in-parts"
        )
    if survey.in_part and len(paths) == 1:
        return "Allow `analyze` more with --memory: no part of it is small enough."
    if len(paths) > 1:
        return "Name fewer paths, or use a larger machine; `analyze` can be allowed more with --memory."
    return (
        "Allow `analyze` more with --memory, use a larger machine, or record a shorter time; a part of it cannot be "
        "read by itself."
    )


def _count(name: str, rows: int) -> str:
    return format_count(rows, *_NOUNS.get(name, (f"row of {name}", f"rows of {name}")))


def _size(value: int) -> str:
    return f"{value / 1e9:.1f} GB" if value >= 10**9 else f"{value / 1e6:.0f} MB"
