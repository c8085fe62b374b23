"""The gate `fresh`: the original's result on inputs that nobody has seen before, other ones for each candidate. An
answer that was learnt by heart is right only on the captured ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.proof.inputs import FreshInputs, StateInputs
from rocm_perf.optimize.proof.sizes import OtherSize
from rocm_perf.optimize.proof.states import CANDIDATE_FAILS, Variant
from rocm_perf.optimize.proof.values import Change
from rocm_perf.replay.plan import Code
from rocm_perf.replay.verify import Examined
from rocm_perf.units import format_bytes, format_count

_LABEL = "candidate"
_CHANGES: tuple[Change, ...] = ("permuted", "drawn")


@dataclass(frozen=True)
class _Outcome:
    """What a variant made of one fresh state."""

    where: str
    compared_bytes: int = 0
    wrong: str = ""
    void: str = ""  # why the inputs prove nothing
    has_other_size: bool = False


def prove_fresh(inputs: FreshInputs, variant: Variant, seed: int, *, with_sizes: bool = False) -> Passage:
    """Whether a variant gives what the original gives: on every state, with its inputs permuted, and drawn anew; and
    with other sizes, if asked for."""
    right: list[_Outcome] = []
    left_out = list(inputs.notes)
    for outcome in _outcomes(inputs, variant, seed, with_sizes=with_sizes):
        if outcome.wrong:
            return Passage("fresh", passed=False, words=f"{outcome.where}: {outcome.wrong}")
        if outcome.void:
            left_out.append(f"{outcome.where}: {outcome.void}")
        else:
            right.append(outcome)
    fresh = [outcome for outcome in right if not outcome.has_other_size]
    words = (_right_text(fresh, seed), *_sizes_text(len(right) - len(fresh)), *left_out)
    return Passage("fresh", passed=bool(fresh), words="; ".join(words))


def _outcomes(inputs: FreshInputs, variant: Variant, seed: int, *, with_sizes: bool) -> Iterator[_Outcome]:
    for one in inputs.states:
        for number, change in enumerate(_CHANGES if one.buffers else ()):
            yield _outcome(one, variant, change, seed + number)
    for size in inputs.sizes if with_sizes else ():
        yield _outcome_of_size(size, variant)


def _outcome(inputs: StateInputs, variant: Variant, change: Change, seed: int) -> _Outcome:
    where = f"{inputs.state.name}, inputs {change} with seed {seed}"
    try:
        with inputs.made(change, seed) as fresh:
            if fresh.fault:
                return _Outcome(where, void=fresh.fault)
            return _judged(where, fresh.examined, inputs.state.code(variant, _LABEL))
    except CANDIDATE_FAILS as error:
        return _Outcome(where, void=f"the original fails on them: {error.what}")


def _outcome_of_size(size: OtherSize, variant: Variant) -> _Outcome:
    examined = size.examined
    if isinstance(examined, str):
        return _Outcome(size.name, void=examined)
    return replace(_judged(size.name, examined, size.state.code(variant, _LABEL)), has_other_size=True)


def _judged(where: str, examined: Examined, code: Code) -> _Outcome:
    try:
        judgement = examined.judged(code)
    except CANDIDATE_FAILS as error:
        return _Outcome(where, wrong=str(error))
    if judgement.verdict == "different":
        wrong = f"not the original's result, {judgement.differing_bytes:,} bytes differ"
        return _Outcome(where, wrong=wrong)
    return _Outcome(where, compared_bytes=judgement.compared_bytes)


def _right_text(right: Sequence[_Outcome], seed: int) -> str:
    if not right:
        return "it cannot be shown that other inputs give the original's result"
    compared = format_bytes(sum(outcome.compared_bytes for outcome in right))
    return f"the original's result on {format_count(len(right), 'fresh state')} from seed {seed}, {compared} compared"


def _sizes_text(count: int) -> tuple[str, ...]:
    return (f"and on {format_count(count, 'other size')}",) if count else ()
