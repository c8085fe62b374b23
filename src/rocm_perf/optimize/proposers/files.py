"""Patches in files: diffs, new texts of the kernel, or answers as a proposer writes them."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.errors import InputError
from rocm_perf.optimize.candidate import Refused
from rocm_perf.optimize.proposers.exchange import AnswerError, Patch, read_answer
from rocm_perf.optimize.proposers.patches import outcomes
from rocm_perf.optimize.proposers.question import Proposals, Proposer, Question

_DIFFS = (".patch", ".diff")
_KERNELS = (".cpp", ".hip", ".cu")
_ANSWERS = (".json",)
_FILE_BYTES = 4 * 1024 * 1024


def patch_files(path: Path) -> Proposer:
    """A proposer of the patches in a file or folder, which are read now. Raises InputError where there are none."""
    files = _patches_in(path) if path.is_dir() else [path]
    if not files:
        kinds = ", ".join((*_DIFFS, *_KERNELS, *_ANSWERS))
        raise InputError(f"{path} has no patches", "no file ends in one of " + kinds)
    parts = [_read(file) for file in files]

    def propose(question: Question) -> Proposals:
        return Proposals.of(
            [
                outcome
                for file, part in zip(files, parts, strict=True)
                for outcome in ([part] if isinstance(part, Refused) else outcomes(part, question, file.name))
            ]
        )

    return propose


def _patches_in(folder: Path) -> list[Path]:
    try:
        return sorted(file for file in folder.iterdir() if _is_patch(file))
    except OSError as error:
        raise InputError(f"cannot read {folder}", error.strerror or str(error)) from error


def _is_patch(file: Path) -> bool:
    return file.suffix in (*_DIFFS, *_KERNELS, *_ANSWERS) and file.is_file()


def _read(file: Path) -> tuple[Patch, ...] | Refused:
    """The patches of a file, or why it has none that can be used."""
    try:
        data = file.read_bytes() if file.stat().st_size <= _FILE_BYTES else None
    except OSError as error:
        raise InputError(f"cannot read {file}", error.strerror or str(error)) from error
    if data is None:
        return Refused(name=file.name, by=file.name, reason="it is larger than 4 MiB")
    if file.suffix in _ANSWERS:
        try:
            return read_answer(data).patches
        except AnswerError as error:
            return Refused(name=file.name, by=file.name, reason=f"it is not an answer of a proposer: {error}")
    text = data.decode(errors="replace")
    return (
        Patch(name=file.stem, kernel=text) if file.suffix in _KERNELS else Patch(name=file.stem, diff=text),
    )
