"""Where measured ceilings are kept, one file per GPU, and which of them a reader is given."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path

import msgspec

from rocm_perf.backends.native_cache import cache_folder
from rocm_perf.errors import InputError
from rocm_perf.files import read_text, write_whole
from rocm_perf.model.machine_ceilings import SCHEMA_VERSION, MachineCeilings

VARIABLE = "ROCM_PERF_CEILINGS"  # as --ceilings
NONE = "none"
THIS_MACHINE = "this machine"


def ceilings_folder(environment: Mapping[str, str] | None = None) -> Path:
    """The folder with a file for each GPU that was measured."""
    return cache_folder(environment).parent / "ceilings"


def save(ceilings: MachineCeilings, path: Path | None = None) -> Path:
    """Write the file, in place of what was measured before of the same GPU; returns where it is."""
    target = path or ceilings_folder() / f"{_file_stem(ceilings)}.json"
    text = msgspec.json.format(msgspec.json.encode(ceilings), indent=1)
    write_whole(target, lambda draft: draft.write_bytes(text + b"\n"), overwrite=True)
    return target


def chosen(
    choice: str | None = None, environment: Mapping[str, str] | None = None
) -> tuple[MachineCeilings, ...]:
    """What analyses are given: those of the file that is named, nothing for "none", else all that this user has
    measured. A file that cannot be read is an error only where it was named."""
    variables = os.environ if environment is None else environment
    named = choice or variables.get(VARIABLE) or ""
    if named == NONE:
        return ()
    if named:
        return (read(Path(named)),)
    kept = sorted(ceilings_folder(variables).glob("*.json"))
    return tuple(ceilings for path in kept if (ceilings := _readable(path)))


def read(path: Path) -> MachineCeilings:
    """The ceilings in a file. Raises InputError."""
    try:
        ceilings = msgspec.json.decode(read_text(path), type=MachineCeilings)
    except msgspec.MsgspecError as error:
        raise InputError(
            f"{path} is not a file of `rocm-perf ceilings`", str(error), "Measure again."
        ) from error
    if ceilings.schema_version != SCHEMA_VERSION:
        why = f"its schema_version is {ceilings.schema_version}, not {SCHEMA_VERSION}"
        raise InputError(f"{path} cannot be used", why, "Measure again: rocm-perf ceilings.")
    here = ceilings.host == socket.gethostname()
    return msgspec.structs.replace(ceilings, host=THIS_MACHINE) if here else ceilings


def _readable(path: Path) -> MachineCeilings | None:
    try:
        return read(path)
    except InputError:
        return None


def _file_stem(ceilings: MachineCeilings) -> str:
    """The GPU's own number; its host and name where it has none."""
    gpu = ceilings.gpu
    return re.sub(r"[^A-Za-z0-9.-]+", "-", gpu.uuid or f"{ceilings.host}-{gpu.name or gpu.gfx}")
