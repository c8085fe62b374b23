"""AMD's runtimes as Debian packages them: which releases are known to work here, and where they are kept.

Their files are pinned by SHA-256 (packages.toml). `fetch.py` gets them; nothing here reaches beyond this machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec

from rocm_perf.arch.toml import read_toml
from rocm_perf.backends.native_cache import cache_folder
from rocm_perf.errors import NotSupportedError, ToolAbsentError, UsageError

FETCH_COMMAND = "rocm-perf emulate --fetch"
NEEDED_GLIBC = (2, 38)  # by every one of these packages
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_HIP = {"7.2": "hip-7.2"}  # by release of ROCr
_ALWAYS = ("llvm", "base", "c-library")  # LLVM: HIP needs it, and the device, to read machine code


class Package(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of Debian's archive."""

    name: str
    version: str
    suite: str
    folder: str  # where it is unpacked
    sha256: dict[str, str]  # by architecture


@dataclass(frozen=True)
class Runtime:
    """One release of ROCr, with HIP where there is one, ready to be loaded."""

    release: str
    loader: Path | None  # of the C library that came with it; None: the machine's own is new enough
    libraries: tuple[Path, ...]


@cache
def packages() -> tuple[Package, ...]:
    """Every pinned package."""
    data = resources.files(__package__).joinpath("packages.toml").read_bytes()
    return tuple(msgspec.convert(read_toml(data, "packages.toml")["package"], type=list[Package]))


def releases() -> tuple[str, ...]:
    """The releases of ROCr that can be had, the newest first."""
    names = {one.folder.removeprefix("rocr-") for one in packages() if one.folder.startswith("rocr-")}
    return tuple(sorted(names, reverse=True))


def folders_of(release: str) -> tuple[str, ...]:
    """What has to be unpacked to run programs on a release."""
    if release not in releases():
        raise UsageError(
            f"there is no ROCr {release} for the software GPU", f"known: {', '.join(releases())}"
        )
    return (f"rocr-{release}", *([_HIP[release]] if release in _HIP else []), *_ALWAYS)


def all_folders() -> tuple[str, ...]:
    """Everything that is pinned, with the headers."""
    return tuple(dict.fromkeys(one.folder for one in packages()))


def root(environment: Mapping[str, str] | None = None) -> Path:
    """The folder below which packages are unpacked."""
    return cache_folder(environment).with_name("softgpu") / architecture()


def architecture() -> str:
    """This machine as Debian calls it."""
    machine = platform.machine()
    if machine in _ARCHITECTURES:
        return _ARCHITECTURES[machine]
    raise NotSupportedError("there is no software GPU for this machine", f"its processor is {machine}")


def missing(release: str, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Folders that have not been fetched yet."""
    place = root(environment)
    return tuple(folder for folder in folders_of(release) if not (place / folder).is_dir())


def runtime(release: str, environment: Mapping[str, str] | None = None) -> Runtime:
    """A release that is ready to be used; where it was not fetched, the error says by which command it is."""
    absent = missing(release, environment)
    if absent:
        raise ToolAbsentError(
            f"the software GPU runs AMD's own runtime, and ROCr {release} was not found",
            f"{', '.join(absent)} missing in {root(environment)}",
            f"`{FETCH_COMMAND}` gets it from Debian's archive (about 70 MB).",
        )
    place = root(environment)
    is_new = glibc() >= NEEDED_GLIBC
    folders = [folder for folder in folders_of(release) if not (is_new and folder == "c-library")]
    libraries = tuple(library_folder(place / folder) for folder in folders)
    return Runtime(release, None if is_new else _loader(place / "c-library"), libraries)


def header_folders(environment: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """Where the runtimes' headers may lie, as a prefix of `include`; none on machines for which nothing is pinned."""
    try:
        return (root(environment) / "headers" / "usr",)
    except NotSupportedError:
        return ()


def library_folder(unpacked: Path) -> Path:
    """Where the libraries of an unpacked folder lie."""
    return unpacked / "usr" / "lib" / f"{platform.machine()}-linux-gnu"


def glibc() -> tuple[int, ...]:
    """The release of this machine's C library; (0,) where it is another one."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        return tuple(map(int, version.split("."))) if name == "glibc" else (0,)
    except (ValueError, OSError):
        return (0,)


def _loader(unpacked: Path) -> Path:
    loaders = sorted(library_folder(unpacked).glob("ld-linux-*.so.*"))
    if loaders:
        return loaders[0]
    raise ToolAbsentError(
        f"{unpacked} has no loader", next_step=f"Remove it; `{FETCH_COMMAND}` gets it anew."
    )
