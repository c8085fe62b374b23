"""How much memory may be used: sizes as users write them, and what machine and control group leave."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from rocm_perf.memory import SHARE, parse_size, usable_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("6G", 6 * 10**9),
        ("1.5 gb", 15 * 10**8),
        ("500M", 5 * 10**8),
        ("4GiB", 4 << 30),
        ("123", 123),
        ("7b", 7),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "0", "0G", "-1G", "1P", "six", "6 G G"])
def test_what_is_not_a_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)


def _machine(root: Path, **files: str) -> Path:
    names = {
        "meminfo": "proc/meminfo",
        "limit_v2": "sys/fs/cgroup/memory.max",
        "use_v2": "sys/fs/cgroup/memory.current",
        "limit_v1": "sys/fs/cgroup/memory/memory.limit_in_bytes",
        "use_v1": "sys/fs/cgroup/memory/memory.usage_in_bytes",
    }
    for name, text in files.items():
        file = root / names[name]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


MEMINFO = "MemTotal:       2000 kB\nMemAvailable:   1000 kB\n"


def test_the_machine_alone(tmp_path: Path) -> None:
    assert usable_bytes(_machine(tmp_path, meminfo=MEMINFO)) == int(SHARE * 1000 * 1024)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_group_that_leaves_less(tmp_path: Path, version: str) -> None:
    group = {f"limit_{version}": "500000\n", f"use_{version}": "100000\n"}
    assert usable_bytes(_machine(tmp_path, meminfo=MEMINFO, **group)) == int(SHARE * 400_000)


def test_a_group_without_a_limit(tmp_path: Path) -> None:
    root = _machine(tmp_path, meminfo=MEMINFO, limit_v2="max\n", use_v2="100000\n")
    assert usable_bytes(root) == int(SHARE * 1000 * 1024)


def test_a_system_that_does_not_say(tmp_path: Path) -> None:
    assert usable_bytes(tmp_path) is None


def test_a_limit_of_the_process_that_leaves_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (500_000, resource.RLIM_INFINITY))
    statm = tmp_path / "proc/self/statm"
    statm.parent.mkdir(parents=True)
    statm.write_text("10 8 2 1 0 4 0\n")
    left = 500_000 - 10 * resource.getpagesize()
    assert usable_bytes(_machine(tmp_path, meminfo=MEMINFO)) == int(SHARE * left)
