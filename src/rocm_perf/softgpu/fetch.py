"""Getting the packages: from the mirror of Debian that this machine's own apt uses, with a configuration of our own.

Nothing on the system changes, and no root is needed. What a mirror sends is used only if its SHA-256 is the pinned
one."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from rocm_perf.backends.native_cache import make_private
from rocm_perf.errors import NotSupportedError, OutputError, ToolAbsentError
from rocm_perf.softgpu.packages import Package, all_folders, architecture, packages, root

MIRROR_VARIABLE = "ROCM_PERF_DEBIAN_MIRROR"
_APT = Path("/etc/apt")
_UPDATE_S, _DOWNLOAD_S, _UNPACK_S = 120, 300, 120
_MOST_SAID = 300


def fetch(say: Callable[[str], None], environment: Mapping[str, str] | None = None) -> Path:
    """Fetch and unpack what is missing; returns where it lies. A folder appears when it is whole."""
    variables = os.environ if environment is None else environment
    place = root(variables)
    wanted = [folder for folder in all_folders() if not (place / folder).is_dir()]
    if not wanted:
        return place
    _need(("apt-get", "dpkg-deb"))
    try:
        make_private(place)
        with tempfile.TemporaryDirectory(dir=place, prefix="fetch-") as scratch:
            apt = _configured(Path(scratch), mirror(variables))
            say(f"asking {len(_suites(wanted))} suites of Debian's archive")
            _run([*apt, "update"], Path(scratch), _UPDATE_S)
            files = _downloaded(wanted, Path(scratch), apt, say)
            for folder in wanted:
                _unpack(folder, files, Path(scratch))
    except OSError as error:
        raise OutputError(f"cannot write {place}", error.strerror or str(error)) from error
    return place


def mirror(environment: Mapping[str, str], apt: Path = _APT) -> str:
    """The address of a Debian archive: the one that is named, or the first of this machine's own sources."""
    if given := environment.get(MIRROR_VARIABLE):
        return given
    files = (apt / "sources.list", *sorted((apt / "sources.list.d").glob("*")))
    texts = (file.read_text(errors="replace") for file in files if file.is_file())
    addresses = list(chain.from_iterable(map(_addresses, texts)))
    for address in addresses:
        if re.search(r"/debian/?$", address):
            return address
    raise ToolAbsentError(
        "no archive of Debian is known on this machine",
        "its apt sources name none" if addresses else "it has no apt sources",
        f"Set {MIRROR_VARIABLE} to the address of one.",
    )


def _addresses(sources: str) -> list[str]:
    """What a file of apt sources names, in either of its two formats."""
    one_line = re.findall(r"^deb\s+(?:\[[^]]*\]\s+)?(\S+)", sources, re.MULTILINE)
    stanzas = re.findall(r"^URIs:\s*(.+)$", sources, re.MULTILINE)
    return [*one_line, *chain.from_iterable(map(str.split, stanzas))]


def _suites(folders: Iterable[str]) -> list[str]:
    wanted = set(folders)
    return sorted({one.suite for one in packages() if one.folder in wanted})


def _configured(scratch: Path, address: str) -> list[str]:
    """The apt-get command with lists and caches of its own."""
    sources = scratch / "sources.list"
    # The pinned SHA-256 says more than a signature of the archive would.
    lines = (f"deb [trusted=yes] {address} {suite} main\n" for suite in _suites(all_folders()))
    sources.write_text("".join(lines))
    for folder in ("lists/partial", "cache/archives/partial"):
        (scratch / folder).mkdir(parents=True)
    options = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": scratch / "lists",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": scratch / "cache",
        "APT::Architecture": architecture(),
        "APT::Sandbox::User": "root",
    }
    return [
        "apt-get",
        "-q",
        *chain.from_iterable(("-o", f"{name}={value}") for name, value in options.items()),
    ]


def _downloaded(
    folders: Iterable[str], scratch: Path, apt: Sequence[str], say: Callable[[str], None]
) -> dict[str, Path]:
    """The files of these folders, by SHA-256."""
    wanted = [one for folder in folders for one in _packages_of(folder)]
    for one in wanted:
        say(f"{one.name} {one.version} of {one.suite}")
    downloads = scratch / "files"
    downloads.mkdir()
    _run([*apt, "download", *(f"{one.name}={one.version}" for one in wanted)], downloads, _DOWNLOAD_S)
    return {hashlib.sha256(file.read_bytes()).hexdigest(): file for file in downloads.glob("*.deb")}


def _packages_of(folder: str) -> list[Package]:
    return [one for one in packages() if one.folder == folder]


def _unpack(folder: str, files: Mapping[str, Path], scratch: Path) -> None:
    """Unpack a folder's packages and put it into place. A file that is not the pinned one is not used."""
    unpacked = scratch / folder
    unpacked.mkdir()
    for one in _packages_of(folder):
        file = files.get(one.sha256[architecture()])
        if file is None:
            raise NotSupportedError(
                f"{one.name} {one.version} is not used",
                "what the archive sent has another SHA-256 than the pinned one",
            )
        _run(["dpkg-deb", "-x", str(file), str(unpacked)], scratch, _UNPACK_S)
    unpacked.replace(scratch.parent / folder)


def _need(tools: Iterable[str]) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            raise ToolAbsentError(
                f"there is no {tool} here", "the packages are Debian's", "Fetch them on a Debian system."
            )


def _run(command: Sequence[str], folder: Path, seconds: float) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolAbsentError(
            "Debian's archive does not answer", f"{command[0]} took over {seconds} s"
        ) from error
    if done.returncode:
        complaints = [line for line in done.stderr.splitlines() if line.startswith("E:")]
        reason = " ".join(complaints or done.stderr.splitlines())[-_MOST_SAID:]
        raise ToolAbsentError("the packages cannot be had from Debian's archive", reason)
