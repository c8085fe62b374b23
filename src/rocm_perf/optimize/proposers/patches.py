"""From a patch to a candidate, or to the reason why it is none."""

from __future__ import annotations

from rocm_perf.errors import UsageError
from rocm_perf.optimize.candidate import Candidate, Edit, Refused, applied
from rocm_perf.optimize.proposers.exchange import Patch
from rocm_perf.optimize.proposers.question import Question
from rocm_perf.optimize.proposers.unified import PatchError, diff_edits
from rocm_perf.text import clean
from rocm_perf.units import format_bytes

_NAME_LETTERS = 100


def outcomes(patches: tuple[Patch, ...], question: Question, by: str) -> list[Candidate | Refused]:
    """What each of the patches comes to, as many as may be proposed at once."""
    limit = question.allowed.patches
    tried = [_outcome(patch, question, by, number) for number, patch in enumerate(patches[:limit], 1)]
    if len(patches) > limit:
        reason = f"{len(patches)} patches at once: only the first {limit} are looked at"
        tried.append(Refused(name="further patches", by=by, reason=reason))
    return tried


def _outcome(patch: Patch, question: Question, by: str, number: int) -> Candidate | Refused:
    """The candidate that a patch describes, or why there is none."""
    name = clean(patch.name).strip()[:_NAME_LETTERS] or f"patch {number}"
    try:
        edits = _edits(patch, question)
        if applied(question.source, edits) == question.source:
            raise PatchError("it changes nothing")
    except (PatchError, UsageError) as error:
        return Refused(name=name, by=by, reason=clean(str(error)))
    return Candidate(name=name, by=by, edits=edits, is_foreign=True)


def _edits(patch: Patch, question: Question) -> tuple[Edit, ...]:
    texts = [text for text in (patch.diff, patch.kernel) if text is not None]
    if len(texts) != 1:
        raise PatchError("it must have one of `diff` and `kernel`")
    if len(texts[0]) > question.allowed.patch_bytes:
        raise PatchError(f"it is larger than {format_bytes(question.allowed.patch_bytes)}")
    if patch.kernel is None:
        return diff_edits(texts[0], question.source)
    start, end = question.span
    return (Edit(start, end, _with_line_ends_of(question.source, patch.kernel).encode(errors="replace")),)


def _with_line_ends_of(source: bytes, text: str) -> str:
    """The text of a kernel with the line ends of its source, and none behind it."""
    lines = text.replace("\r\n", "\n").strip("\n")
    return lines.replace("\n", "\r\n") if b"\r\n" in source else lines
