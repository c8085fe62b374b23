"""How much memory this process may use: what the machine has left, within the limits of its control group and shell."""

from __future__ import annotations

import os
import re
import resource
from pathlib import Path

from rocm_perf.errors import NotSupportedError

SHARE = 0.8  # of what is available: others on the machine need some too
# Address space that libraries and threads reserve before any work. Below it, runs on a small recording ended in one of
# several places in Polars, Python or glibc: up to 0.8 GB with 2 threads, 1.2 GB with 16 (2026-11-19, Polars 2.0).
_LEAST_ADDRESS_SPACE = 1_000_000_000
_ADDRESS_SPACE_OF_A_CORE = 64_000_000
_ROOT = Path("/")
_MULTIPLES = "kmgt"
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?|b)?")
# A group's limit and use, of version 2 and 1. Within a container they are at the root.
_GROUPS = (
    ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current"),
    ("sys/fs/cgroup/memory/memory.limit_in_bytes", "sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def parse_size(text: str) -> int:
    """A number of bytes: 500M and 6G are powers of 1000, 500MiB and 6GiB of 1024; raises ValueError if it is none."""
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None or not float(match.group(1)):
        raise ValueError(f"{text!r} is not a size such as 6G, 500M or 4GiB")
    number, multiple, binary = match.groups()
    power = _MULTIPLES.index(multiple) + 1 if multiple else 0
    return int(float(number) * (1024 if binary else 1000) ** power)


def require_address_space() -> None:
    """Raise NotSupportedError if the shell's limit (ulimit -v) is too low for our libraries to start.

    Polars cannot report this: its threads panic, or glibc aborts the process.
    """
    limit = _address_space_limit()
    needed = _LEAST_ADDRESS_SPACE + _ADDRESS_SPACE_OF_A_CORE * (os.cpu_count() or 1)
    if limit is not None and limit < needed:
        raise NotSupportedError(
            f"`ulimit -v` leaves {limit / 1e6:,.0f} MB of address space",
            f"rocm-perf needs {needed / 1e6:,.0f} MB on this machine before it reads anything",
            "Raise the limit in this shell: ulimit -v unlimited",
        )


def usable_bytes(root: Path = _ROOT) -> int | None:
    """Return what may be used if nobody says otherwise; None where the system does not say how much there is."""
    left = [_machine_left(root), _process_left(root), *(_group_left(root, *files) for files in _GROUPS)]
    known = [size for size in left if size is not None]
    return int(SHARE * min(known)) if known else None


def _machine_left(root: Path) -> int | None:
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    values = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return next((int(value) << 10 for value in values), None)


def _process_left(root: Path) -> int | None:
    """Return the address space that this process has left within its own limit."""
    limit = _address_space_limit()
    if limit is None:
        return None
    try:
        pages = int((root / "proc/self/statm").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return limit
    return max(limit - pages * resource.getpagesize(), 0)


def _address_space_limit() -> int | None:
    soft, _hard = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _group_left(root: Path, limit: str, use: str) -> int | None:
    try:
        return max(int((root / limit).read_text()) - int((root / use).read_text()), 0)
    except (OSError, ValueError):  # no such group, or "max"
        return None
