"""What an optimisation came to, in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.model.results.optimize import Attempt
from rocm_perf.optimize.choice import Prospect
from rocm_perf.optimize.loop.search import Found
from rocm_perf.units import format_count, format_share


def not_worth_it(prospect: Prospect, least_gain: float) -> str:
    """Why nothing was tried."""
    why = f"Even in the best case the program gains less than {format_share(least_gain)}"
    if not prospect.saved_ns:
        why = "Its time hides behind that of others: without it the program would take as long"
    return f"{why}; --min-gain 0 tries nevertheless."


def none_accepted(tried: int, stopped: str | None) -> str:
    """Why nothing of what was tried is in the answer; `stopped`: what ended the search early."""
    why = f"None of {format_count(tried, 'candidate')} passed every gate and was faster"
    if not tried:
        why = "No change that we know may be made to it; --proposer and --patches bring others"
    return f"{why}; {stopped}." if stopped else f"{why}."


def accepted(found: Found, tried: int, *, applied: bool) -> str:
    """How many of the changes are in the answer, and what became of it."""
    count = f"{found.rounds} of {format_count(tried, 'candidate')} accepted"
    fate = "the source was written" if applied else "nothing of yours was changed"
    return "; ".join((count, *((found.stopped,) if found.stopped else ()), fate)) + "."


def rounding_notes(attempts: Sequence[Attempt], least_gain: float) -> tuple[str, ...]:
    """The fastest change that one option would have let through: a user may know that it does no harm."""
    refused = [
        (attempt.replay.value, attempt)
        for attempt in attempts
        if attempt.replay and attempt.passages and attempt.passages[-1].needed
    ]
    speed, attempt = max(refused, key=lambda pair: pair[0], default=(0.0, None))
    if attempt is None or speed <= 1 + least_gain:
        return ()
    return (
        f"{attempt.name}: {speed:.2f} times as fast in a first look, refused because its results are rounded "
        f"otherwise; {attempt.passages[-1].needed} allows that",
    )


def flag_notes(flags: tuple[str, ...]) -> tuple[str, ...]:
    """What the source alone does not say of the answer."""
    if not flags:
        return ()
    return (f"it needs {' '.join(flags)} in the build command, which is yours to change",)
