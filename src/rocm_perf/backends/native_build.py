"""Native parts: compiled on first use by the machine's own compiler, and kept."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rocm_perf.errors import NotSupportedError, OutputError

COMPILE_SECONDS = 180
FLAGS = ("-std=c++17", "-O2", "-pthread")
_EXPORTS = Path(__file__).with_name("native_exports.map")
# A library goes into a program that may have loaded another libstdc++: a static one whose symbols nobody else sees
# cannot clash with it. (A capture with visible symbols crashed in torch; that they were the cause was not established.)
LIBRARY_FLAGS = (
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-Wl,-Bsymbolic",
    f"-Wl,--version-script,{_EXPORTS}",
)
_STATIC = ("-static-libstdc++", "-static-libgcc")


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where native parts are kept."""
    given = (os.environ if environment is None else environment).get("XDG_CACHE_HOME", "")
    root = Path(given) if given.startswith("/") else Path.home() / ".cache"
    return root / "rocm-perf" / "native"


def digest(contents: Iterable[tuple[str, bytes]], words: Iterable[str]) -> str:
    """Names a part's folder: another source, compiler or toolkit is another place."""
    parts = [name.encode() + b"\0" + content for name, content in contents]
    return hashlib.sha256(b"\0".join([*parts, "\n".join(words).encode()])).hexdigest()[:16]


def compile_into(target: Path, compiler: str, arguments: Sequence[str], remains: str = "") -> None:
    """Compile into place. Two at once are safe: each renames its own. `remains`: what works without the part."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="build-") as folder:
            fresh = Path(folder, target.name)
            words = [*FLAGS, *arguments, "-o", str(fresh)]
            # Some systems package the static libstdc++ apart.
            if _complaint(compiler, [*words, *_STATIC]) and (said := _complaint(compiler, words)):
                raise NotSupportedError(f"{target.name} does not compile here", said, remains)
            fresh.replace(target)
    except OSError as error:
        why = error.strerror or str(error)
        raise OutputError(f"{target} cannot be kept", why, "Set XDG_CACHE_HOME.") from error


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
