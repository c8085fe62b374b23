"""How much memory this process may use: what the machine has left, within the limit of its control group."""

from __future__ import annotations

import re
from pathlib import Path

SHARE = 0.8  # of what is available: others on the machine need some too
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


def usable_bytes(root: Path = _ROOT) -> int | None:
    """What may be used if nobody says otherwise; None where the system does not say how much there is."""
    left = [_machine_left(root), *(_group_left(root, *files) for files in _GROUPS)]
    known = [size for size in left if size is not None]
    return int(SHARE * min(known)) if known else None


def _machine_left(root: Path) -> int | None:
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    values = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return next((int(value) << 10 for value in values), None)


def _group_left(root: Path, limit: str, use: str) -> int | None:
    try:
        return max(int((root / limit).read_text()) - int((root / use).read_text()), 0)
    except (OSError, ValueError):  # no such group, or "max"
        return None
