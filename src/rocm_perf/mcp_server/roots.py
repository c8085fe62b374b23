"""Which files may be asked about: those below the folders that the server was started with, wherever links lead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rocm_perf.errors import InputError
from rocm_perf.serve.folders import is_inside


def allowed_path(text: str, roots: Sequence[Path]) -> Path:
    """The file or folder that a client names, absolute or as it lies below a root; raises if it is outside of all."""
    named = Path(text)
    places = [named] if named.is_absolute() else [root / named for root in roots]
    inside = [place.resolve() for place in places if "\0" not in text and is_allowed(place, roots)]
    if not inside:
        raise InputError(
            f"{text!r} is not one of the recordings here",
            "it does not exist, or lies outside of the folders that may be read",
            "The tool `recordings` lists what there is.",
        )
    return inside[0]


def is_allowed(path: Path, roots: Sequence[Path]) -> bool:
    """Whether the path leads to something below a root."""
    return any(is_inside(path, root) for root in roots)


def shown_path(path: Path, roots: Sequence[Path]) -> str:
    """The path as a client may name it: below its root, where only one has it there."""
    root = next(root for root in roots if path.is_relative_to(root))
    below = path.relative_to(root)
    alone = sum((other / below).exists() for other in roots) == 1
    return str(below) if alone and below.parts else str(path)
