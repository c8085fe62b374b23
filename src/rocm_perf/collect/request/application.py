"""The application before it starts: is it there, may it run, is it Python, can its results be written."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from rocm_perf.errors import OutputError, UsageError

_PYTHON = re.compile(r"(python|pypy)\d*(\.\d+)*")
_STARTERS = {"torchrun", "accelerate", "deepspeed"}  # run a Python script in this interpreter's environment


def find_application(command: tuple[str, ...], environment: Mapping[str, str]) -> Path:
    """The file that runs; refused, with what to do about it, where nothing would."""
    if not command or not command[0]:
        raise UsageError("there is no application to run", next_step="Write it behind --: -- ./app args.")
    name = command[0]
    folders = [entry or "." for entry in environment.get("PATH", os.defpath).split(os.pathsep)]
    candidates = [Path(name)] if os.sep in name else [Path(folder, name) for folder in folders]
    for file in candidates:
        if file.is_file() and os.access(file, os.X_OK):
            return file
    raise _absent(name, candidates, folders)


def is_python(file: Path) -> bool:
    """Whether a Python interpreter runs it: by its name, or by the first line of a script."""
    if _PYTHON.fullmatch(file.name) or file.name in _STARTERS:
        return True
    try:
        with file.open("rb") as stream:
            first = stream.read(256).split(b"\n")[0]
    except OSError:
        return False
    return first.startswith(b"#!") and b"python" in first


def check_output(folder: Path) -> None:
    """Refuse a folder into which the results could not be written."""
    place = folder.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise OutputError(f"cannot write to {folder}", f"{place} is not a folder", "Choose another with -d.")
    if not os.access(place, os.W_OK | os.X_OK):
        why = f"{place} does not let this user write"
        raise OutputError(f"cannot write to {folder}", why, "Choose another with -d.")


def _absent(name: str, candidates: Iterable[Path], folders: Iterable[str]) -> UsageError:
    existing = next((file for file in candidates if file.exists()), None)
    here = Path(name)
    if existing is not None and existing.is_dir():
        return UsageError(f"{name} is a folder, not an application")
    if existing is not None:
        hint = f"Run it as: python {name}." if name.endswith(".py") else f"chmod +x {name} makes it so."
        return UsageError(f"{name} cannot be started", "it is not executable", hint)
    if os.sep not in name and here.is_file():
        return UsageError(f"{name} is not on PATH", "there is one in this folder", f"Write ./{name}.")
    near = _nearest(name, folders)
    return UsageError(f"there is no application {name}", f"the nearest name is {near}" if near else "")


def _nearest(name: str, folders: Iterable[str]) -> str:
    """The name in the folder of a path, or on PATH, that looks most like it."""
    parent = Path(name).parent
    places = [parent] if os.sep in name else [Path(folder) for folder in folders]
    names = {file.name for place in places for file in _files(place)}
    near = difflib.get_close_matches(Path(name).name, sorted(names), n=1, cutoff=0.7)
    if not near:
        return ""
    return f"{parent}{os.sep}{near[0]}" if os.sep in name else near[0]


def _files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
