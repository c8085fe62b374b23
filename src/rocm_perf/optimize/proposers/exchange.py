"""What a proposer is told and what it answers, as JSON: the contract of `--proposer` (docs/proposers.md)."""

from __future__ import annotations

import msgspec

from rocm_perf.model.results.optimize import Resources
from rocm_perf.text import clean

SCHEMA_VERSION = 1


class KernelText(msgspec.Struct, frozen=True, kw_only=True):
    """The kernel that is to be faster."""

    name: str
    line: int  # of the source, from 1, at which its text begins
    text: str  # what a `kernel` of the answer replaces


class KernelProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured. None: not known."""

    share: float | None = None  # of the critical path of the program's steady state
    roof_share: float | None = None  # of what the hardware allows that the kernel reaches
    best_case: float | None = None  # speedup of the program if the kernel were as fast as it can be
    resources: Resources | None = None  # what the kernel needs, from its code object


class EarlierAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a change that was tried before, whoever proposed it."""

    name: str
    by: str
    verdict: str
    reason: str
    patch: str
    speedup: float | None


class Allowed(msgspec.Struct, frozen=True, kw_only=True):
    """What a proposal may do. Whatever it says, every gate looks at it."""

    edits: str = (
        "the text of the kernel alone: signature, launches, host code and other functions stay as they are"
    )
    fast_math: bool = False  # approximate or narrower arithmetic
    patches: int = 16  # that are looked at; further ones are not
    patch_bytes: int = 256 * 1024


class ProposalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The one JSON object on the proposer's standard input."""

    schema_version: int = SCHEMA_VERSION
    file: str  # name of the source, without its folder
    source: str  # all of it, with what was accepted so far
    kernel: KernelText
    arch: str
    compiler: str
    cause: str  # memory, latency, occupancy, lds, compute or unknown
    because: str  # what says so
    profile: KernelProfile
    attempts: tuple[EarlierAttempt, ...]
    allowed: Allowed


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """A change: a diff of the source, or a new text of the kernel."""

    name: str = ""
    diff: str | None = None
    kernel: str | None = None


class ProposalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The one JSON object on the proposer's standard output. No patches: it has no further idea."""

    schema_version: int = SCHEMA_VERSION
    patches: tuple[Patch, ...]


class AnswerError(ValueError):
    """What was answered is not an answer; the text says why."""


def read_answer(data: bytes) -> ProposalAnswer:
    """The answer in some bytes. Raises AnswerError."""
    if not data.strip():
        raise AnswerError('it is empty: an answer without an idea is {"patches": []}')
    try:
        answer = msgspec.json.decode(data, type=ProposalAnswer)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise AnswerError(f"{clean(str(error))}; docs/proposers.md says what it must be") from error
    if answer.schema_version != SCHEMA_VERSION:
        raise AnswerError(
            f"its schema_version is {answer.schema_version}, and {SCHEMA_VERSION} is what is read here"
        )
    return answer
