"""Where candidates are built: copies of the source in a folder of our own, by the user's command with other paths. The
user's files are read, never written."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from rocm_perf.errors import InputError, OutputError, UsageError
from rocm_perf.optimize.builds.architecture_options import ptx_recipe
from rocm_perf.optimize.builds.code_objects import GpuCode, read_code
from rocm_perf.optimize.builds.errors import BuildError, first_complaint, first_lines
from rocm_perf.optimize.builds.processes import Processes
from rocm_perf.optimize.builds.recipe import Recipe, relocated

LIMIT_S = 300.0  # for each command
_LOOK_S = 0.1
MOST_SOURCE_BYTES = 16 << 20
Wish = tuple[bytes, tuple[str, ...]]  # a text of the source, and options that are added for the compiler
# Kernels without a name of their own outside of the file get one that nvcc and clang make of the file's path.
_NAMED_BY_PATH = ("_GLOBAL__N__", "_INTERNAL_", ".static.", ".anon.", ".intern.")


@dataclass(frozen=True)
class Build:
    """One text of the source, built."""

    text: bytes
    flags: tuple[str, ...]
    product: Path
    code: GpuCode
    command: str  # as it was run, on the copy
    seconds: float
    ended_s: float  # since the epoch


class Workshop:
    """Builds texts of one source; each text with its options is built once. To be used in a `with`: everything that it
    wrote is gone afterwards."""

    def __init__(self, recipe: Recipe, *, limit_s: float = LIMIT_S, jobs: int = 1) -> None:
        self.recipe = recipe
        self._limit_s = limit_s
        self._processes = Processes()
        self._benches = tuple((threading.RLock(), f"bench-{number}") for number in range(max(1, jobs)))
        self._bench_of: dict[str, int] = {}
        self._is_named_by_path = False
        self._kept: dict[str, Build] = {}

    def __enter__(self) -> Workshop:
        try:
            self.folder = Path(tempfile.mkdtemp(prefix="rocm-perf-optimize-"))
        except OSError as error:
            why = error.strerror or str(error)
            raise OutputError("there is no room for copies of the source", why, "Set TMPDIR.") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._processes.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def build_original(self) -> Build:
        """The source as it is. To be built first."""
        try:
            original = self.build(original_text(self.recipe.source))
        except BuildError as error:
            what = f"{self.recipe.source.name} does not build as it is, before any change"
            why = error.why if error.complaint else ": ".join(filter(None, (error.what, error.why)))
            by = self.recipe.origin if self.recipe.makes == "device code" else f"the command {self.recipe}"
            raise BuildError(what, why, f"It was built by {by}", error.complaint) from error
        names = [kernel.name for image in original.code.images for kernel in image.code.kernels]
        self._is_named_by_path = any(mark in name for name in names for mark in _NAMED_BY_PATH)
        return original

    def build(self, text: bytes, flags: Sequence[str] = ()) -> Build:
        """The text, built with these options added. Raises BuildError where it does not build."""
        key = _key(text, flags)
        with self._bench(key)[0]:
            if key not in self._kept:
                self._kept[key] = self._built(text, tuple(flags), key)
            return self._kept[key]

    def build_all(self, wishes: Iterable[Wish]) -> list[Build | BuildError]:
        """Every text with its options, as many at once as there are jobs; the error where one does not build."""

        def built(wish: Wish) -> Build | BuildError:
            try:
                return self.build(*wish)
            except BuildError as error:
                return error

        with ThreadPoolExecutor(len(self._benches)) as pool:
            try:
                futures = [pool.submit(built, wish) for wish in wishes]
                # Polars has system calls restarted after Ctrl-C: a wait without an end would not be interrupted.
                while wait(futures, timeout=_LOOK_S).not_done:
                    pass
                return [future.result() for future in futures]
            except BaseException:
                self._processes.stop()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def rebuild(self, build: Build) -> Build:
        """The same text with the same options, built once more at the same place, in another second: in the same one,
        code that holds __TIME__ would be the same."""
        time.sleep(min(1.0, max(0.0, int(build.ended_s) + 1 - time.time())))
        return self._built(build.text, build.flags, _key(build.text, build.flags), again=True)

    def ptx(self, build: Build, arch: str) -> str:
        """The PTX of a build by nvcc: what is in its product, or else what the same command makes."""
        if build.code.ptx:
            return build.code.ptx
        key = _key(build.text, build.flags)
        recipe = ptx_recipe(self.recipe, arch)
        file, _, _ = self._made(recipe, build.text, build.flags, key=key, kept=f"{key}-ptx")
        return file.read_text(errors="replace")

    def _built(self, text: bytes, flags: tuple[str, ...], key: str, *, again: bool = False) -> Build:
        kept = f"{key}-again" if again else key
        product, command, seconds = self._made(self.recipe, text, flags, key=key, kept=kept)
        return Build(
            text=text,
            flags=flags,
            product=product,
            code=_code_of(product),
            command=command,
            seconds=seconds,
            ended_s=time.time(),
        )

    def _made(
        self, recipe: Recipe, text: bytes, flags: tuple[str, ...], *, key: str, kept: str
    ) -> tuple[Path, str, float]:
        """The file that a recipe makes of a text, kept until the end; its command; how long it took."""
        lock, name = self._bench(key)
        with lock:
            folder = self.folder / name
            started = time.monotonic()
            copied = relocated(recipe, folder, flags)
            try:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                copied.source.write_bytes(text)
                self._run(copied)
                place = self.folder / kept / recipe.product.name
                place.parent.mkdir(exist_ok=True)
                copied.product.replace(place)
            except OSError as error:
                raise _unwritten(error) from error
            return place, str(copied), time.monotonic() - started

    def _bench(self, key: str) -> tuple[threading.RLock, str]:
        """Where a text is built: always at the same place, because compilers make some names of the path."""
        number = self._bench_of.setdefault(key, len(self._bench_of) % len(self._benches))
        return self._benches[0 if self._is_named_by_path else number]

    def _run(self, recipe: Recipe) -> None:
        for command in recipe.commands:
            try:
                ended = self._processes.run(
                    command.argv, command.cwd, limit_s=self._limit_s, temporary=recipe.source.parent
                )
            except InterruptedError as error:
                raise KeyboardInterrupt from error
            except OSError as error:
                why = error.strerror or str(error)
                raise BuildError(
                    f"cannot start {command.argv[0]}", why, "Name another with --build."
                ) from error
            if ended.status is None:
                raise BuildError(f"{command.compiler} did not end within {self._limit_s:g} s")
            if ended.status:
                said = ended.text.replace(f"{recipe.source.parent}/", "")  # the copy is not the user's affair
                raise BuildError(
                    f"{command.compiler} failed with exit code {ended.status}",
                    first_complaint(said),
                    complaint=first_lines(said),
                )
        if not recipe.product.is_file():
            raise BuildError(
                f"the build command wrote no {recipe.product.name}",
                next_step="Give a command that ends in -o FILE.",
            )


def original_text(source: Path) -> bytes:
    """The bytes of a source file."""
    try:
        if not source.is_file():
            raise UsageError(f"there is no source file {source}")
        with source.open("rb") as file:
            text = file.read(MOST_SOURCE_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read {source}", error.strerror or str(error)) from error
    if len(text) > MOST_SOURCE_BYTES:
        raise InputError(f"{source} is not a source file", f"it is larger than {MOST_SOURCE_BYTES >> 20} MiB")
    return text


def _key(text: bytes, flags: Sequence[str]) -> str:
    return hashlib.sha256(text + b"\0" + "\0".join(flags).encode()).hexdigest()[:24]


def _code_of(product: Path) -> GpuCode:
    try:
        return read_code(product)
    except InputError as error:
        raise BuildError(error.what, error.why, "The build command has to make GPU code.") from error


def _unwritten(error: OSError) -> OutputError:
    return OutputError("a copy of the source cannot be built", error.strerror or str(error), "Set TMPDIR.")
