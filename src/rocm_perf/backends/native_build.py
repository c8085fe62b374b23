"""Native parts: compiled on first use by the machine's own compiler, and kept."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rocm_perf.backends.native_cache import PRIVATE, cache_folder, is_kept, make_private
from rocm_perf.errors import NotSupportedError, OutputError, ToolAbsentError

COMPILE_SECONDS = 180  # for one file
FOLDER_VARIABLE = "ROCM_PERF_NATIVE_DIR"  # a folder with parts that were built elsewhere
_COMPILERS = ("c++", "g++", "clang++")
NATIVE = Path(__file__).parents[1] / "native"
_SHIMS = NATIVE / "shims"  # headers that pip's CUDA lacks: taken only where there is no other
_FLAGS = ("-std=c++17", "-O2", "-pthread")
# A library goes into a program that may have loaded another libstdc++: a static one whose symbols nobody else sees
# cannot clash with it. (A capture with visible symbols crashed in torch; that they were the cause was not established.)
_LIBRARY_FLAGS = ("-fPIC", "-fvisibility=hidden")
_LIBRARY_LINKED = ("-shared", "-Wl,-Bsymbolic")
_OBJECT_LINKED = ("-r", "-nostdlib")
_STATIC = ("-static-libstdc++", "-static-libgcc")


@dataclass(frozen=True)
class Recipe:
    """What a native part is made of."""

    compiler: str
    folders: tuple[str, ...]  # of the sources, below NATIVE
    flags: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    makes: Literal["program", "library", "object"] = "program"  # object: what other parts are linked with
    exports: str = "exports.map"  # of a library, below NATIVE
    in_one: bool = (
        False  # by one command with these flags alone: compilers for GPUs do not take a host compiler's
    )


def part(name: str, recipe: Callable[[str], Recipe], variables: Mapping[str, str]) -> Path:
    """The file of this name: built elsewhere, kept, or compiled now by the recipe that belongs to the compiler."""
    if given := variables.get(FOLDER_VARIABLE):
        file = Path(given, name)
        if file.is_file():
            return file.absolute()
        raise ToolAbsentError(f"there is no {name}", f"{FOLDER_VARIABLE} is {given}")
    chosen = recipe(_compiler(variables))
    marks = (chosen.compiler, *chosen.flags, *chosen.linked)
    target = cache_folder(variables) / digest(chosen.folders, marks) / name
    if not is_kept(target):
        compile_into(target, chosen)
    return target


def _compiler(environment: Mapping[str, str]) -> str:
    for name in _COMPILERS:
        if compiler := shutil.which(name, path=environment.get("PATH")):
            return compiler
    raise ToolAbsentError(
        "there is no C++ compiler",
        "the native parts are built on first use",
        f"Install g++, or set {FOLDER_VARIABLE} to a folder with parts that were built elsewhere.",
    )


def sources(folders: Iterable[str], suffixes: tuple[str, ...] = (".cpp",)) -> list[Path]:
    """The files of these folders of NATIVE, without those of folders below them."""
    files = (file for folder in folders for file in (NATIVE / folder).iterdir())
    return sorted(file for file in files if file.suffix in suffixes)


def digest(folders: Iterable[str], marks: Iterable[str]) -> str:
    """A name for a part's folder: other sources, or another compiler or toolkit among the marks, are another place."""
    files = sources(folders, (".cpp", ".h"))
    contents = [file.name.encode() + b"\0" + file.read_bytes() for file in files]
    return hashlib.sha256(b"\0".join([*contents, "\n".join(marks).encode()])).hexdigest()[:16]


def compile_into(target: Path, recipe: Recipe, remains: str = "") -> None:
    """Compile into place, unless another process has just done so. `remains`: what works without the part."""
    try:
        make_private(target.parent)
        with (
            _alone_in(target.parent),
            tempfile.TemporaryDirectory(dir=target.parent, prefix="build-") as folder,
        ):
            if is_kept(target):
                return
            fresh = Path(folder, target.name)
            complaint = build(fresh, recipe)
            if complaint:
                raise NotSupportedError(f"{target.name} does not compile here", complaint, remains)
            fresh.chmod(PRIVATE)  # whatever the umask allows others
            fresh.replace(target)
    except OSError as error:
        why = error.strerror or str(error)
        raise OutputError(f"cannot write {target}", why, "Set XDG_CACHE_HOME.") from error


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """One process at a time. Where a file system has no locks, two are safe, too: each renames its own part."""
    with (folder / "lock").open("w") as lock:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(target: Path, recipe: Recipe) -> str:
    """Compile each source beside the target, several at a time, and link them; returns what the compiler complained of,
    nothing if it did not."""
    if recipe.in_one:
        return _built_in_one(target, recipe)
    kind = () if recipe.makes == "program" else _LIBRARY_FLAGS
    flags = [*_FLAGS, *kind, *recipe.flags, "-I", str(NATIVE), "-idirafter", str(_SHIMS)]
    files = sources(recipe.folders)
    objects = [str(target.with_name(f"{number}-{file.stem}.o")) for number, file in enumerate(files)]

    def compiled(pair: tuple[Path, str]) -> str:
        return _complaint(recipe.compiler, [*flags, "-c", str(pair[0]), "-o", pair[1]])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = list(filter(None, pool.map(compiled, zip(files, objects, strict=True))))
    return complaints[0] if complaints else _linked(target, recipe, objects)


def _built_in_one(target: Path, recipe: Recipe) -> str:
    files = map(str, sources(recipe.folders))
    flags = ("-std=c++17", "-O2", *recipe.flags, "-I", str(NATIVE))
    return _complaint(recipe.compiler, [*flags, *files, *recipe.linked, "-o", str(target)])


def _linked(target: Path, recipe: Recipe, objects: Sequence[str]) -> str:
    if recipe.makes == "object":
        return _complaint(recipe.compiler, [*_OBJECT_LINKED, *objects, "-o", str(target)])
    exports = f"-Wl,--version-script,{NATIVE / recipe.exports}"
    kind = (*_LIBRARY_LINKED, exports) if recipe.makes == "library" else ()
    arguments = [*recipe.flags, "-pthread", *kind, *objects, *recipe.linked, "-o", str(target)]
    # Some systems package the static libstdc++ apart.
    return _complaint(recipe.compiler, [*arguments, *_STATIC]) and _complaint(recipe.compiler, arguments)


def _complaint(compiler: str, arguments: list[str]) -> str:
    """Nothing, or the last lines of what the compiler said."""
    try:
        done = subprocess.run(
            [compiler, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMPILE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{compiler} did not end within {COMPILE_SECONDS} s"
    if done.returncode == 0:
        return ""
    lines = [line.strip() for line in done.stderr.splitlines() if "error" in line.lower()]
    return "; ".join((lines or done.stderr.splitlines())[-3:])[:400] or f"{compiler} exited {done.returncode}"
