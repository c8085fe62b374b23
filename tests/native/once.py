"""Binaries that are compiled once for each state of their sources, however many test processes ask for them."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from shutil import rmtree


def compiled_once(root: Path, kind: str, key: str, compile_into: Callable[[Path], None]) -> Path:
    """The folder with the binaries of this kind. Those of an older key are removed."""
    folder = root / f"{kind}-{key}"
    with (root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            for old in root.glob(f"{kind}-*/"):
                rmtree(old)
            folder.mkdir()
            compile_into(folder)
            (folder / "ready").touch()
    return folder


def key_of(files: Iterable[Path], *words: str) -> str:
    """What tells these sources, compiled with these words, from others."""
    parts = [file.name.encode() + b"\0" + file.read_bytes() for file in files]
    return hashlib.sha256(b"\0".join([*parts, " ".join(words).encode()])).hexdigest()[:12]
