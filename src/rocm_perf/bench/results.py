"""Results over several processes, with where and when they were measured."""

from __future__ import annotations

import datetime
import json
import platform
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rocm_perf.bench.samples import Result, Samples
from rocm_perf.bench.target import Target
from rocm_perf.errors import InputError
from rocm_perf.files import read_text, write_whole
from rocm_perf.text import encode_json
from rocm_perf.version import __version__

_GIT_S = 5.0
_MOST_BYTES = 1 << 30
_DRIVERS = ("amdgpu", "nvidia")


def result_of(
    target: Target, processes: tuple[Samples, ...], settings: Mapping[str, Any] | None = None
) -> Result:
    """The result that these processes amount to, measured just now, here."""
    machines = (one.facts["machine"] for one in processes if "machine" in one.facts)
    return with_surroundings(
        Result(target=target.name, processes=processes, machine=next(machines, {}), settings=settings or {})
    )


def with_surroundings(result: Result) -> Result:
    """The result with what is known here and now: the host, the date and the commit."""
    return replace(result, machine={**_host(), **result.machine}, date=now(), commit=commit())


def now() -> str:
    """This moment in UTC, as ISO 8601 writes it."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def save_result(result: Result, path: Path, *, overwrite: bool) -> None:
    """Write the result as a JSON file."""
    data = encode_json(result.to_json())
    write_whole(path, lambda draft: draft.write_bytes(data), overwrite=overwrite)


def save_aside(result: Result) -> Path:
    """Write the result to a new file in the folder for temporary files, and return its path."""
    folder = Path(tempfile.mkdtemp(prefix="rocm-perf-result-"))
    save_result(result, folder / "result.json", overwrite=False)
    return folder / "result.json"


def read_result(path: Path) -> Result:
    """The result that a file holds. Raises InputError."""
    try:
        data: Any = json.loads(read_text(path, most_bytes=_MOST_BYTES))
    except (ValueError, RecursionError) as error:
        raise InputError(f"cannot read {path}", f"it is not JSON ({error})") from error
    if not isinstance(data, dict):
        raise InputError(f"cannot read {path}", "it is not a result of rocm-perf bench")
    return Result.from_json(data)


def _host() -> dict[str, str]:
    """What is known of this machine without asking a GPU."""
    drivers = {name: _driver_version(name) for name in _DRIVERS}
    return {
        "host": platform.node(),
        "architecture": platform.machine(),
        "kernel": platform.release(),
        **{name: version for name, version in drivers.items() if version},
        "rocm_perf": __version__,
    }


def _driver_version(module: str) -> str:
    """The version of a loaded kernel module; empty where it is not loaded, or is part of the kernel."""
    try:
        return Path(f"/sys/module/{module}/version").read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def commit() -> str:
    """The commit of the working directory, with `-dirty` where files were changed; empty outside of a repository."""
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=_GIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""
