"""The gate `outputs`: the program prints the same numbers, writes the same files and ends in the same way. What two
runs of the original do not agree on (times, dates) is not compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.proof.printed import Expected, expected_of
from rocm_perf.optimize.proof.private_folder import STDOUT, Left, run_privately
from rocm_perf.optimize.proof.program import Program, ProgramError
from rocm_perf.replay.tolerance import Tolerance
from rocm_perf.units import format_count

_IN_PLACE = "its folder is too large or cannot be copied, so that only files named by --verify are looked at"


@dataclass(frozen=True)
class OutputReference:
    """What the original leaves, as far as two runs of it agree."""

    expected: Mapping[str, Expected]  # by the name of the file
    files: tuple[Path, ...]  # that the user named
    notes: tuple[str, ...]  # what is not compared, and why


def reference_outputs(
    program: Program, files: tuple[Path, ...] = (), given: tuple[Tolerance, ...] = ()
) -> OutputReference:
    """What two runs of the original leave. Raises why it does not run."""
    first, second = (run_privately(program, files) for _ in range(2))
    for left in (first, second):
        if fault := program.fault_of(left.end):
            raise program.unfit(fault)
    for path in files:
        if str(path) not in first.contents:
            raise ProgramError(f"the program does not write {path}", next_step="Check what --verify names.")
    expected = {
        name: expected_of(data, second.contents.get(name), given) for name, data in first.contents.items()
    }
    notes = [f"{name}: {one.left_out}" for name, one in expected.items() if one.left_out]
    return OutputReference(expected, files, (*notes, *([_IN_PLACE] if first.in_place else [])))


def prove_outputs(reference: OutputReference, program: Program) -> Passage:
    """Whether another build of the program leaves what the original does."""
    left = run_privately(program, reference.files)
    fault = program.fault_of(left.end) or _first_fault(reference, left)
    words = fault or "; ".join((_same_text(reference), *reference.notes))
    return Passage("outputs", passed=not fault, words=words)


def _first_fault(reference: OutputReference, left: Left) -> str:
    for name, expected in reference.expected.items():
        if name not in left.contents and expected.is_compared:
            return f"{name} was not written"
        if fault := expected.fault(left.contents.get(name, b"")):
            return f"{name}: {fault}"
    return ""


def _same_text(reference: OutputReference) -> str:
    files = sum(one.is_compared for name, one in reference.expected.items() if name != STDOUT)
    return f"the same output and {format_count(files, 'file')}" if files else "the same output"
