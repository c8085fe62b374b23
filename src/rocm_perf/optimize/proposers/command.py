"""Any command as a proposer: one JSON object in, one JSON object out, within limits."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec

from rocm_perf.errors import UsageError
from rocm_perf.optimize.candidate import Refused
from rocm_perf.optimize.proposers.exchange import AnswerError, read_answer
from rocm_perf.optimize.proposers.limited import Limits, NoAnswerError, answered
from rocm_perf.optimize.proposers.patches import outcomes
from rocm_perf.optimize.proposers.question import Proposals, Proposer, Question


def command_proposer(command: str, limits: Limits | None = None) -> Proposer:
    """A proposer that runs the command for every question. Raises UsageError where it is not a command."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--proposer is not a command: {command}", str(error)) from error
    if not words:
        raise UsageError("--proposer is empty", next_step="Give the command that proposes changes.")
    argv, by = [_absolute(word) for word in words], f"proposer {_name(words)}"

    def propose(question: Question) -> Proposals:
        try:
            data = answered(argv, msgspec.json.encode(question.request), limits or Limits())
            answer = read_answer(data)
        except NoAnswerError as error:
            return Proposals(refused=(Refused(name="no proposal", by=by, reason=str(error)),))
        except AnswerError as error:
            reason = f"its answer cannot be used: {error}"
            return Proposals(refused=(Refused(name="no proposal", by=by, reason=reason),))
        return Proposals.of(outcomes(answer.patches, question, by))

    return propose


def _absolute(word: str) -> str:
    """A file that is named relative to the current folder, as found from any other: the command runs elsewhere."""
    return str(Path(word).resolve()) if Path(word).is_file() else word


def _name(words: list[str]) -> str:
    """What the command is called in the ledger: the first file that is named, or else the program."""
    return Path(next((word for word in words if Path(word).is_file()), words[0])).name
