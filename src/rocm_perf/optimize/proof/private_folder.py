"""A run of the program in a copy of its folder, so that what it writes is seen, and nothing of the user's changes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf.bench.run import Finished
from rocm_perf.optimize.proof.program import Program

STDOUT = "its output"
_MOST_BYTES = 256 << 20  # of a folder that is copied
_MOST_FILES = 5_000
_PASSED_OVER = shutil.ignore_patterns(".git", ".rocm-perf", "__pycache__")


@dataclass(frozen=True)
class Left:
    """What a run left: what it printed, and the files that are new or changed."""

    end: Finished
    contents: Mapping[str, bytes]  # by name
    in_place: bool = False  # the folder could not be copied


def run_privately(program: Program, files: tuple[Path, ...] = ()) -> Left:
    """Run the program in a copy of its folder. Named files are set aside for the time of the run."""
    folder = (program.folder or Path.cwd()).absolute()
    with ExitStack() as stack:
        for path in files:
            stack.enter_context(set_aside(folder / path))
        copy = stack.enter_context(private_copy(folder))
        before = {} if copy is None else _stamps(copy)
        end, printed = replace(program, folder=copy or folder).finished()
        contents = {STDOUT: printed, **_named(folder, copy, files)}
        if copy is not None:
            contents |= _new_files(copy, before)
        return Left(end, contents, in_place=copy is None)


@contextmanager
def set_aside(path: Path) -> Iterator[None]:
    """Let a file be away, and put it back in place of what came meanwhile: an old result is not a new one."""
    kept = path.with_name(f".{path.name}.rocm-perf-kept")
    was_there = path.is_file()
    if was_there:
        path.rename(kept)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        if was_there:
            kept.rename(path)


@contextmanager
def private_copy(folder: Path) -> Iterator[Path | None]:
    """A copy of the folder that goes at the end; None where it is too large, or cannot be copied."""
    with tempfile.TemporaryDirectory(prefix="rocm-perf-run-") as name:
        copy = Path(name, "run")
        yield copy if _is_small(folder) and _copy(folder, copy) else None


def _copy(folder: Path, copy: Path) -> bool:
    try:
        shutil.copytree(folder, copy, symlinks=True, ignore=_PASSED_OVER)
    except OSError:  # a file that we may not read, a socket, a full disk
        return False
    return True


def _is_small(folder: Path) -> bool:
    size = 0
    try:
        for count, path in enumerate(folder.rglob("*")):
            size += path.lstat().st_size
            if count > _MOST_FILES or size > _MOST_BYTES:
                return False
    except OSError:
        return False
    return True


def _stamps(folder: Path) -> dict[Path, tuple[int, int]]:
    plain = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in plain}


def _new_files(copy: Path, before: Mapping[Path, tuple[int, int]]) -> dict[str, bytes]:
    changed = [path for path, stamp in _stamps(copy).items() if before.get(path) != stamp]
    return {str(path.relative_to(copy)): path.read_bytes() for path in changed}


def _named(folder: Path, copy: Path | None, files: tuple[Path, ...]) -> dict[str, bytes]:
    """The files that the user named, wherever the program wrote them."""
    contents = {}
    for path in files:
        places = [folder / path] if copy is None else [copy / path, folder / path]
        written = next((place for place in places if place.is_file()), None)
        if written is not None:
            contents[str(path)] = written.read_bytes()
    return contents
