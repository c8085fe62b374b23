"""The formulas: from measurements of one kernel to a score in [0, 1] for each label."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rocm_perf.analysis.bottleneck.suspects import USED
from rocm_perf.analysis.roofline.regime import NEAR_DATA_SHEET
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.bottleneck import Evidence, Label, LabelScore

FORMULAS = {
    "bottleneck.compute": "max(compute_share, matrix_busy, vector_busy); memory_share is shown with it",
    "bottleneck.memory bandwidth": "max(memory_share, l2_share); compute_share and l2_hit_rate are shown with it",
    "bottleneck.memory latency": "memory_wait * room(memory_share); memory_wait_at_most if nothing tells more",
    "bottleneck.LDS": "max(lds_share, lds_busy, lds_wait), and lds_conflicts * (1 - max(compute_share, memory_share)) "
    "where the LDS is active a tenth of the time or more, or how much is not known, at most wait_share",
    "bottleneck.scratch": "scratch / 1024 B, at most 1, * (1 - max(compute_share, matrix_busy)); wait_share and "
    "memory_share are shown with it",
    "bottleneck.occupancy": "(1 - occupancy) * room(compute_share, memory_share); occupancy_limit if not measured; "
    "nothing where the whole grid fits at once",
    "bottleneck.launch/latency": "max(empty_units, short), and (1 - occupancy) * room(compute_share, memory_share) "
    "where the whole grid fits at once",
    "bottleneck.divergence": "(1 - lanes) * room(memory_share)",
    "bottleneck.waiting": "barrier_wait; wait_share and occupancy are shown with it",
    "bottleneck.room": "1 - max(shares) / 0.35, not below 0: none is left where the roofline takes a ceiling to bind",
}

Measured = Mapping[str, Evidence]
_Scored = tuple[float, tuple[str, ...]] | None  # the score, and the measurements that it rests on

INDEPENDENT = 2
_MUCH_SCRATCH = 1024  # bytes a work-item: more than the 256 vector registers of a lane hold


def label_scores(measured: Measured) -> tuple[LabelScore, ...]:
    """Every label that anything was measured for, highest score first."""
    scores = [_labelled(label, rule(measured), measured) for label, rule in _RULES.items()]
    known = [score for score in scores if score is not None]
    return tuple(sorted(known, key=lambda score: -float(score.score.value or 0)))


def _labelled(label: Label, scored: _Scored, measured: Measured) -> LabelScore | None:
    if scored is None:
        return None
    value, names = scored
    inputs = {name: measured[name].value for name in names}
    sources = {measured[name].source for name in names}
    score = Quantity(
        value=min(1.0, max(0.0, value)), unit="", formula=FORMULAS[f"bottleneck.{label}"], inputs=inputs
    )
    return LabelScore(label, score, len(sources) >= INDEPENDENT)


def _known(measured: Measured, *names: str) -> tuple[str, ...]:
    return tuple(name for name in names if name in measured)


def _most(measured: Measured, names: tuple[str, ...]) -> float:
    return max((measured[name].value for name in names), default=0.0)


def _room(measured: Measured, names: tuple[str, ...]) -> float:
    """How far a kernel is from the ceilings that bind before anything else does."""
    return max(0.0, 1 - 100 * _most(measured, names) / NEAR_DATA_SHEET)


def _compute(measured: Measured) -> _Scored:
    names = _known(measured, "compute_share", "matrix_busy", "vector_busy")
    return (_most(measured, names), names + _known(measured, "memory_share")) if names else None


def _bandwidth(measured: Measured) -> _Scored:
    names = _known(measured, "memory_share", "l2_share")
    return (
        (_most(measured, names), names + _known(measured, "compute_share", "l2_hit_rate")) if names else None
    )


def _memory_latency(measured: Measured) -> _Scored:
    """An upper bound alone proves nothing, whatever else was measured."""
    names = _known(measured, "memory_share")
    if "memory_wait" in measured:
        return measured["memory_wait"].value * _room(measured, names), ("memory_wait", *names)
    if "memory_wait_at_most" in measured:
        return measured["memory_wait_at_most"].value * _room(measured, names), ("memory_wait_at_most",)
    return None


def _lds(measured: Measured) -> _Scored:
    """Conflicts count for what the kernel is away from its roofs: near one, they cost nothing."""
    names = _known(measured, "lds_share", "lds_busy", "lds_wait")
    conflicts = _known(measured, "lds_conflicts")
    if not names and not conflicts:
        return None
    shares = _known(measured, "compute_share", "memory_share")
    counts = "lds_busy" not in measured or measured["lds_busy"].value >= USED
    lost = _most(measured, conflicts) * (1 - _most(measured, shares)) if counts else 0.0
    if "wait_share" in measured:  # waves lose no more than they wait
        lost = min(lost, measured["wait_share"].value)
    return max(_most(measured, names), lost), names + conflicts + _known(measured, "wait_share")


def _scratch(measured: Measured) -> _Scored:
    if "scratch" not in measured:
        return None
    room = 1 - _most(measured, _known(measured, "compute_share", "matrix_busy"))
    beside = _known(measured, "wait_share", "memory_share")
    return min(1.0, measured["scratch"].value / _MUCH_SCRATCH) * room, ("scratch", *beside)


def _occupancy(measured: Measured) -> _Scored:
    """The score from the waves that were resident, or else by those that fit: both measure the same thing."""
    return None if "waves_that_fit" in measured else _few_waves(measured)


def _few_waves(measured: Measured) -> _Scored:
    waves = _known(measured, "occupancy", "occupancy_limit")[:1]
    if not waves:
        return None
    names = _known(measured, "compute_share", "memory_share")
    return (1 - _most(measured, waves)) * _room(measured, names), (*waves, *names)


def _launch(measured: Measured) -> _Scored:
    """A grid that fits at once leaves slots empty because it is small, whatever its waves need."""
    names = _known(measured, "empty_units", "short")
    empty = _few_waves(measured) if "waves_that_fit" in measured else None
    if empty is None:
        return (_most(measured, names), names) if names else None
    return max(_most(measured, names), empty[0]), (*names, *empty[1])


def _divergence(measured: Measured) -> _Scored:
    if "lanes" not in measured:
        return None
    names = _known(measured, "memory_share")
    return (1 - measured["lanes"].value) * _room(measured, names), ("lanes", *names)


def _waiting(measured: Measured) -> _Scored:
    if "barrier_wait" not in measured:
        return None
    beside = _known(measured, "wait_share", "occupancy")
    return measured["barrier_wait"].value, ("barrier_wait", *beside)


_RULES: dict[Label, Callable[[Measured], _Scored]] = {
    "compute": _compute,
    "memory bandwidth": _bandwidth,
    "memory latency": _memory_latency,
    "LDS": _lds,
    "scratch": _scratch,
    "occupancy": _occupancy,
    "launch/latency": _launch,
    "divergence": _divergence,
    "waiting": _waiting,
}
