"""Answers that took long, kept: the same question about the same files is answered at once.

A question is known before anything is read. What reading looked at besides, such as the log of a database, is kept with
the answer, and compared when it is asked for again.
"""

from __future__ import annotations

import hashlib
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rocm_perf.errors import RocmPerfError
from rocm_perf.version import __version__

if TYPE_CHECKING:
    from rocm_perf.analysis.roofline.build import Machines
    from rocm_perf.ingest.io.source import FileState
    from rocm_perf.model.document import Document

WORTH_KEEPING_S = 2.0
_SMALLEST_BYTES = 1 << 20  # smaller recordings are analysed as fast as an answer is looked up
_MOST_FILES = 10_000  # of a recording
_MOST_ANSWERS = 64
_LIBRARIES = ("polars", "msgspec", "adbc-driver-sqlite", "zstandard", "isal")
_SETTINGS = "ROCM_PERF_"
_SOURCES = (".py", ".toml", ".tsv")  # what we compute by: code, GPUs and metrics, counters
_PACKAGE = Path(__file__).resolve().parents[1]


class Wish(NamedTuple):
    """What is asked of a recording."""

    grouping: str = "full"
    window: str = "steady"
    range_name: str | None = None
    step_kind: str | None = None
    as_one: bool = False
    captures: tuple[Path, ...] = ()
    link_gbps: float | None = None
    gpu: str | None = None


def question_of(path: Path, machines: Machines, wish: Wish) -> str | None:
    """What tells a question from any other: the files, the options, the user's GPUs and settings, this machine, and
    this program itself, down to its sources. None where an answer is not worth keeping, or the files are too many to
    look at."""
    from rocm_perf.arch.catalog import user_folder
    from rocm_perf.ingest.io.source import state_of

    try:
        files = [file for source in (path, *wish.captures) for file in _files(source)]
        states = {str(file): state_of(file) for file in files}
        changed_ns = [file.stat().st_ctime_ns for file in files if states[str(file)]]
        gpus = {str(file): state_of(file) for file in _files(user_folder())}
        place = (str(path), str(path.resolve()))
    except (OSError, ValueError, RuntimeError):
        return None
    sizes = [state[0] for state in states.values() if state and len(state) > 1]
    if len(states) > _MOST_FILES or sum(sizes) < _SMALLEST_BYTES:
        return None
    settings = {name: value for name, value in os.environ.items() if name.startswith(_SETTINGS)}
    program = (
        __version__,
        _own_sources(),
        sys.version,
        [(name, metadata.version(name)) for name in _LIBRARIES],
    )
    here = (socket.gethostname(), sorted(gpus.items()), sorted(settings.items()))
    known = (program, here, place, sorted(states.items()), sorted(changed_ns), machines, wish)
    return hashlib.blake2b(repr(known).encode("utf-8", "surrogateescape"), digest_size=20).hexdigest()


def keep(question: str | None, document: Document, consulted: Mapping[str, FileState]) -> None:
    """Write the answer down; the oldest ones make room. Where that fails, it is made again the next time."""
    if question is None:
        return
    import msgspec

    from rocm_perf.backends.native_cache import make_private
    from rocm_perf.files import write_whole

    with suppress(RocmPerfError, OSError):
        make_private(_folder())
        data = msgspec.msgpack.encode((consulted, document))
        write_whole(_file(question), lambda draft: draft.write_bytes(data), overwrite=True)
        by_age = sorted(_folder().glob("*.msgpack"), key=lambda file: file.stat().st_mtime_ns, reverse=True)
        for file in by_age[_MOST_ANSWERS:]:
            file.unlink(missing_ok=True)


def kept(question: str | None) -> Document | None:
    """The answer from before; None where there is none that can be trusted."""
    if question is None:
        return None
    import msgspec

    from rocm_perf.backends.native_cache import distrust
    from rocm_perf.ingest.io.source import FileState, state_of
    from rocm_perf.model.document import Document

    file = _file(question)
    try:
        if not file.is_file() or distrust(file):
            return None
        consulted, document = msgspec.msgpack.decode(
            file.read_bytes(), type=tuple[dict[str, FileState], Document]
        )
    except (OSError, msgspec.DecodeError):
        return None
    return document if all(state_of(name) == state for name, state in consulted.items()) else None


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)


def _own_sources() -> list[tuple[str, int, int]]:
    """The sources of this program: while it is worked on, its version stays the same."""
    paths = (os.path.join(folder, name) for folder, _, names in os.walk(_PACKAGE) for name in names)
    sources = (path for path in paths if path.endswith(_SOURCES))
    return sorted((path, (facts := os.stat(path)).st_size, facts.st_mtime_ns) for path in sources)


def _folder() -> Path:
    from rocm_perf.backends.native_cache import cache_folder

    return cache_folder().parent / "answers"


def _file(question: str) -> Path:
    return _folder() / f"{question}.msgpack"
