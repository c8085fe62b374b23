"""Which candidates to try first on a GPU, judging by their code alone. Pure.

The order: no spills before spills; then most bytes under way on a SIMD, which is what hides the latency of memory
(Little's law: waves, times the bytes that each has under way when it waits); then fewest instructions for a byte that
is moved; then most waves. Where the code cannot be read, waves and registers are all there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rocm_perf.model.results.optimize import Resources, StaticFacts

Key = TypeVar("Key")
_SAME = 0.02  # differences below this share are not spoken of, and do not order


@dataclass(frozen=True)
class View:
    """What one build needs and shows."""

    needs: Resources
    facts: StaticFacts | None = None  # None: its code cannot be read here

    @property
    def bytes_per_lane(self) -> float | None:
        """Bytes that all waves of a SIMD together have under way when they wait, for each lane."""
        if self.facts is None or self.facts.bytes_in_flight is None or self.needs.waves is None:
            return None
        return self.needs.waves * self.facts.bytes_in_flight


@dataclass(frozen=True)
class Placed(Generic[Key]):
    """A candidate in its place."""

    key: Key
    is_promising: bool  # ranked before the original
    reasons: tuple[str, ...]  # what differs from the original, what counts most first


def placed(original: View, candidates: Sequence[tuple[Key, View]]) -> list[Placed[Key]]:
    """The candidates, the most promising first; those that are equal stay in their order."""
    order = sorted(candidates, key=lambda pair: _rank(pair[1], original))
    own = _rank(original, original)
    return [Placed(key, _rank(view, original) < own, tuple(_reasons(original, view))) for key, view in order]


def _rank(view: View, original: View) -> tuple[float, ...]:
    """Lower is better; each number as a multiple of the original's, in steps that are worth a word."""
    facts, first = view.facts, original.facts
    return (
        view.needs.spills or 0,
        view.needs.scratch_bytes or 0,
        -_steps(view.bytes_per_lane, original.bytes_per_lane),
        _steps(
            facts.instructions_per_byte if facts else None, first.instructions_per_byte if first else None
        ),
        -_steps(view.needs.waves, original.needs.waves),
        _steps(view.needs.vgprs, original.needs.vgprs) if facts is None else 0,
    )


def _steps(value: float | None, reference: float | None) -> int:
    if not value or not reference:
        return 0
    return round((value / reference - 1) / _SAME)


def _reasons(original: View, view: View) -> Iterator[str]:
    before, after = original.needs, view.needs
    if (after.spills or 0) != (before.spills or 0):
        yield f"{after.spills} spilled registers instead of {before.spills or 0}"
    yield from _ratio("bytes under way for each lane of a SIMD", original.bytes_per_lane, view.bytes_per_lane)
    if original.facts and view.facts:
        first, second = original.facts, view.facts
        yield from _ratio(
            "instructions for each byte moved", first.instructions_per_byte, second.instructions_per_byte
        )
        yield from _ratio(
            "instructions between a load and its wait", first.wait_distance, second.wait_distance
        )
    yield from _ratio("waves", before.waves, after.waves)
    yield from _ratio("VGPRs", before.vgprs, after.vgprs)


def _ratio(what: str, before: float | None, after: float | None) -> Iterator[str]:
    if before is None or after is None or not _steps(after, before):
        return
    yield f"{what} {before:.3g} -> {after:.3g}"
