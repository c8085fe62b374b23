"""Writing the accepted source over the user's file, and taking it back. The original is kept beside the ledger."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from rocm_perf.errors import InputError, UsageError
from rocm_perf.files import write_whole

_RECORD = "applied.json"
_ORIGINAL = "original"


class Applied(msgspec.Struct, frozen=True):
    """What was written over, with what."""

    source: str
    original_sha256: str
    applied_sha256: str


def apply(source: Path, original: bytes, accepted: bytes, folder: Path) -> None:
    """Replace the source with the accepted text, atomically. Refused if the file has changed since it was read."""
    if source.read_bytes() != original:
        raise UsageError(
            f"{source} was changed while it was being optimised",
            "what was proven is a change of the text that was there before",
            "Run optimize again.",
        )
    record = Applied(
        source=str(source.resolve()), original_sha256=_digest(original), applied_sha256=_digest(accepted)
    )
    _write(folder / _ORIGINAL, original)
    _write(folder / _RECORD, msgspec.json.encode(record))
    _write(source, accepted)


def is_applied(folder: Path) -> bool:
    """Whether something was applied, and not taken back, from this folder."""
    return (folder / _RECORD).is_file()


def roll_back(source: Path, folder: Path) -> None:
    """Restore the original. Refused where the file is not what `apply` wrote: somebody's work would be lost."""
    try:
        record = msgspec.json.decode((folder / _RECORD).read_bytes(), type=Applied)
        original = (folder / _ORIGINAL).read_bytes()
        now = source.read_bytes()
    except FileNotFoundError as error:
        raise UsageError(f"nothing was applied to {source}", "so there is nothing to take back") from error
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(f"the original of {source} cannot be read from {folder}", str(error)) from error
    if _digest(original) != record.original_sha256:
        raise InputError(f"{folder / _ORIGINAL} is not the text that was kept", "its hash differs")
    if _digest(now) != record.applied_sha256:
        raise UsageError(
            f"{source} was changed after the optimisation was applied",
            "restoring the original would lose that",
            f"The original is {folder / _ORIGINAL}.",
        )
    _write(source, original)
    (folder / _RECORD).unlink(missing_ok=True)


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _write(path: Path, text: bytes) -> None:
    """Replace a file at once, keeping its mode: whoever looks sees the old text or the new one."""

    def written(draft: Path) -> None:
        draft.write_bytes(text)
        if path.exists():
            draft.chmod(path.stat().st_mode)

    write_whole(path, written, overwrite=True, durable=True)
