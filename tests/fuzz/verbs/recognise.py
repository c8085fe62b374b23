"""Whether an input passes the first look of the verb that gets it; what does not is refused before much happens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from rocm_perf.arch.codeobject import bundles, elf, fatbin
from rocm_perf.arch.toml import read_toml
from rocm_perf.errors import RocmPerfError
from rocm_perf.ingest.io.source import sources_of
from rocm_perf.ingest.sniff import sniff
from rocm_perf.model.bundle import is_bundle
from tests.fuzz.verbs.inputs import Kind

_CODE = (elf.MAGIC, bundles.MAGIC, bundles.COMPRESSED_MAGIC, fatbin.MAGIC)


def is_recognised(kind: Kind, path: Path) -> bool:
    """For a folder: whether one of its files is."""
    try:
        return _LOOKS[kind](path)
    except Exception:  # noqa: BLE001  (whatever it is, the verb meets it too)
        return False


def _recording(path: Path) -> bool:
    if path.is_dir():
        return is_bundle(path) or any(_holds_recording(file) for file in path.rglob("*") if file.is_file())
    return _holds_recording(path)


def _holds_recording(file: Path) -> bool:
    for source in sources_of(file):
        try:
            sniff(source)
        except RocmPerfError:
            continue
        return True
    return False


def _code(path: Path) -> bool:
    return path.read_bytes().startswith(_CODE)


def _toml(path: Path) -> bool:
    files = list(path.iterdir()) if path.is_dir() else [path]
    return any(bool(read_toml(file.read_bytes(), file.name)) for file in files)


def _settings(path: Path) -> bool:
    text = path.read_text()
    return bool(json.loads(text)) if path.suffix == ".json" else bool(text.strip())


_LOOKS: dict[Kind, Callable[[Path], bool]] = {
    "recording": _recording,
    "code": _code,
    "workload": _toml,
    "counters": _settings,
    "context": _settings,
    "gpus": _toml,
}
