"""The program's own GPU code, read after it ran: the executable, the libraries beside it, the code objects that the
profiler names, and what Triton and torch keep compiled. Nothing of it is executed, and the time is bounded."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from rocm_perf.analysis.basis.names import demangle
from rocm_perf.analysis.basis.symbols import matcher, words_of
from rocm_perf.arch.codeobject.survey import CodeSource, Wanted, survey
from rocm_perf.errors import InputError, RocmPerfError
from rocm_perf.files import write_whole
from rocm_perf.model import schema
from rocm_perf.model.collection import CollectionRecord
from rocm_perf.model.device_code import FILE_NAME, DeviceCode, tables
from rocm_perf.model.trace import Trace
from rocm_perf.text import encode_json

LIMIT_S = 10.0  # after a run
ASKED_LIMIT_S = 120.0  # where the user names the files
_MOST_KERNELS = 256  # those with most time; the others hardly matter
_MOST_FILES = 256
_MOST_CACHED = 100_000  # files of a cache that are looked at
_MOST_WORDS = 16  # of a command that may be files
_SUFFIXES = re.compile(r".*\.(so(\.[\d.]+)?|hsaco|co|cubin|fatbin|hipfb)")
_NUMBER = r"\d+|0x[0-9a-fA-F]+"
_URI = re.compile(rf"file://(?P<path>[^#?]*)(?:[#?]offset=(?P<offset>{_NUMBER})&size=(?P<size>{_NUMBER}))?$")


def with_own_code(trace: Trace, folder: Path, record: CollectionRecord) -> Trace:
    """Return a recording of ours with what its program's code shows, and leave that beside it for later analyses. Of
    several ranks the first reads it: they run the same program."""
    wanted = wanted_of(trace)
    if record.rank or wanted is None or trace.has("code"):
        return trace
    variables = {**os.environ, **(record.passes[0].environment if record.passes else {})}
    try:
        sources = islice(_own_sources(trace, record, variables), _MOST_FILES)
        found = survey(sources, wanted, limit_s=LIMIT_S, demangle=demangle)
        if not found.kernels:
            return trace
        code = DeviceCode(kernels=found.kernels, notices=_worth_saying(found.notices))
        whole = joined(trace, code)
    except RocmPerfError:  # code that cannot be read takes nothing from the recording
        return trace
    with suppress(RocmPerfError):  # a full disk: the analysis of now has it all the same
        text = encode_json(code)
        write_whole(folder / FILE_NAME, lambda draft: draft.write_bytes(text + b"\n"), overwrite=True)
    return whole


def with_code(trace: Trace, paths: Sequence[Path]) -> tuple[Trace, tuple[str, ...]]:
    """Return a recording with the code of its kernels in files that the user names (folders: all files of GPU code in
    them), and what was left out. Raises InputError where none of them has code of one of its kernels."""
    wanted = wanted_of(trace)
    if wanted is None:
        return trace, ("the recording names no kernel, so no code was read",)
    sources = [source for path in paths for source in _named(path)]
    code = survey(sources[:_MOST_FILES], wanted, limit_s=ASKED_LIMIT_S, demangle=demangle)
    if not code.kernels:
        shown = ", ".join(map(str, paths))
        why = (
            "; ".join(code.notices[:2])
            or f"none of its kernels is one of the recording's ({_ran_on(wanted)})"
        )
        raise InputError(f"{shown} has no code of this recording", why, "Give the program that was recorded.")
    left = (f"{len(sources) - _MOST_FILES:,} files left out",) if len(sources) > _MOST_FILES else ()
    return joined(trace, code), (*code.notices, *left)


def joined(trace: Trace, code: DeviceCode) -> Trace:
    """Return the recording with the tables of some code."""
    fresh = {name: schema.conform(name, frame) for name, frame in tables(code).items() if frame.height}
    return Trace({**{name: trace.table(name) for name in trace}, **fresh}, trace.run)


def wanted_of(trace: Trace) -> Wanted | None:
    """Return which kernels are looked for: those of a recording with most time; None where it names none."""
    names = kernels_by_time(trace)[:_MOST_KERNELS]
    if not names:
        return None
    agents = trace.table("agents").filter(pl.col("kind").fill_null("GPU") == "GPU")
    archs = tuple(agents["gfx"].drop_nulls().unique(maintain_order=True))
    return Wanted(matches=matcher(names), words=words_of(names), archs=archs)


def kernels_by_time(trace: Trace) -> list[str]:
    """Return the names of the kernels, those with most time first."""
    if trace.has("dispatches"):
        spent = (pl.col("end_ns") - pl.col("start_ns")).fill_null(0).sum().alias("spent")
        rows = (
            trace.lazy("dispatches")
            .group_by("kernel")
            .agg(spent)
            .sort("spent", "kernel", descending=[True, False])
        )
        return rows.collect()["kernel"].drop_nulls().to_list()
    totals = trace.table("summaries").filter(pl.col("domain") == "kernel")
    return (
        totals.sort("total_ns", descending=True, nulls_last=True)["name"]
        .unique(maintain_order=True)
        .to_list()
    )


def _own_sources(
    trace: Trace, record: CollectionRecord, variables: Mapping[str, str]
) -> Iterator[CodeSource]:
    """Where the program's code may lie, the surest first; no file twice."""
    seen: set[tuple[int, int, tuple[int, int] | None]] = set()
    for source in _possible_sources(trace, record, variables):
        with suppress(OSError, ValueError):
            facts = source.path.stat()
            key = (facts.st_dev, facts.st_ino, source.span)
            if source.path.is_file() and key not in seen:
                seen.add(key)
                yield source


def _possible_sources(
    trace: Trace, record: CollectionRecord, variables: Mapping[str, str]
) -> Iterator[CodeSource]:
    names = kernels_by_time(trace)[:_MOST_KERNELS]
    yield from _loaded_objects(trace, names)
    yield from _of_program(record, variables)
    yield from _compiled_by_triton(names, variables)
    yield from _extensions_of_torch(variables)


def _loaded_objects(trace: Trace, names: Sequence[str]) -> Iterator[CodeSource]:
    """The files, and places in them, that the profiler saw code objects loaded from."""
    rows = trace.table("kernels").filter(pl.col("kernel").is_in(names))
    for uri in rows["code_object_uri"].drop_nulls().unique(maintain_order=True):
        if match := _URI.match(uri):
            size = int(match["size"] or "0", 0)
            yield CodeSource(Path(unquote(match["path"])), (int(match["offset"], 0), size) if size else None)


def _of_program(record: CollectionRecord, variables: Mapping[str, str]) -> Iterator[CodeSource]:
    """The files that the command names, and the code beside those that are not installed programs."""
    folders = [Path(entry or ".") for entry in variables.get("PATH", "").split(os.pathsep)]
    files: list[Path] = []
    for word in record.command[:_MOST_WORDS]:
        with suppress(OSError, ValueError):
            file = Path(record.folder, word)
            if file.is_file():
                files.append(file.resolve())
            elif os.sep not in word and word == record.command[0]:
                files += [found.resolve() for folder in folders if (found := folder / word).is_file()][:1]
    yield from map(CodeSource, files)
    installed = {folder.resolve() for folder in folders}
    for home in dict.fromkeys(file.parent for file in files):
        if home not in installed:
            yield from _in_folder(home)


def _in_folder(folder: Path) -> Iterator[CodeSource]:
    with suppress(OSError):
        names = sorted(entry.name for entry in os.scandir(folder) if _SUFFIXES.fullmatch(entry.name))
        yield from (CodeSource(folder / name) for name in names[:_MOST_FILES])


def _compiled_by_triton(names: Sequence[str], variables: Mapping[str, str]) -> Iterator[CodeSource]:
    """The files that Triton and torch.compile name after their kernels."""
    home = Path(variables.get("HOME", "/nonexistent"))
    wanted = {name + end for name in names for end in (".hsaco", ".cubin")}
    caches = (
        (Path(variables.get("TRITON_CACHE_DIR", home / ".triton" / "cache")), 1),
        (_inductor_cache(variables) / "triton", 2),
    )
    for cache, depth in caches:
        below = islice(_files_below(cache, depth), _MOST_CACHED)
        yield from (CodeSource(Path(file.path)) for file in below if file.name in wanted)


def _files_below(folder: Path | str, depth: int) -> Iterator[os.DirEntry[str]]:
    """The files so many folders below one."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if depth and entry.is_dir(follow_symlinks=False):
                yield from _files_below(entry.path, depth - 1)
            elif not depth:
                yield entry


def _inductor_cache(variables: Mapping[str, str]) -> Path:
    if chosen := variables.get("TORCHINDUCTOR_CACHE_DIR"):
        return Path(chosen)
    try:
        user = re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
    except (OSError, KeyError):  # a user without a name, as in containers
        user = str(os.getuid())
    return Path(variables.get("TMPDIR", "/tmp"), f"torchinductor_{user}")


def _extensions_of_torch(variables: Mapping[str, str]) -> Iterator[CodeSource]:
    """Extensions that torch.utils.cpp_extension built."""
    home = Path(variables.get("HOME", "/nonexistent"), ".cache", "torch_extensions")
    root = Path(variables.get("TORCH_EXTENSIONS_DIR", home))
    places = ("*/*.so", "*/*/*.so")
    yield from (CodeSource(file) for place in places for file in islice(root.glob(place), 64))


def _named(path: Path) -> Iterator[CodeSource]:
    """A file that the user names, or those of GPU code in a folder and below."""
    if not path.is_dir():
        yield CodeSource(path)
        return
    for folder, _, names in os.walk(path):
        yield from (CodeSource(Path(folder, name)) for name in sorted(names) if _SUFFIXES.fullmatch(name))


def _worth_saying(notices: Sequence[str]) -> tuple[str, ...]:
    """Notices without those of files that have no GPU code, as scripts and most libraries."""
    plain = ("does not contain GPU code", "is empty")
    return tuple(notice for notice in notices if not any(words in notice for words in plain))


def _ran_on(wanted: Wanted) -> str:
    return (
        f"they ran on {', '.join(wanted.archs)}"
        if wanted.archs
        else "the recording does not say on which GPU"
    )
