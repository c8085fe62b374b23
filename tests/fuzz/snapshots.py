"""Hostile snapshots: one that is right is changed in its structure, mostly with right hashes, and handed to replay.

    python -m tests.fuzz.snapshots --seconds 300 --seed 1

Whatever a snapshot holds, each task ends in time, with one of its documented exit codes and no traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import itertools
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from rocm_perf.cli.main import main as rocm_perf
from rocm_perf.replay.json_files import digest
from tests.unit.replay.toys import BLOCK, Toy, fake_runner, make_snapshot

TASKS = ("info", "reserve-check", "full-vm", "verify")
DOCUMENTED = frozenset({0, 1, 2, 3, 6, 20, 21, 22, 23, 24})  # docs/replay.md
TIMEOUT_S = 5  # that a replay is given
_LIMIT_S = 60  # for a task, which may run the runner several times: beyond that it hangs
_JSON_FILES = ("manifest.json", "dispatch.json", "memory_regions.json")
_HUGE = 1 << 45
_BATCH = 100
_NUMBERS = (
    0, 1, -1, 3, 2**16, 2**31 - 1, 2**31, 2**32, 2**47, 2**57, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30, -(2**63),
    1e308, -0.5,
)  # fmt: skip
_TEXTS = (
    "", " ", "..", "../../etc/passwd", "/etc/passwd", "a/../../b", "memory", "x" * 5000, "two words", "line\nbreak",
    "\x1b[31mred", "\u202eback", "0x", "0xffffffffffffffff", "-1", "１２", "manifest.json", "kernel.hsaco", "nul\0",
    "version 1\nkernel other",
)  # fmt: skip

Change = Callable[[Path, random.Random], None]


@dataclass(frozen=True)
class Finding:
    """One snapshot that a task did not stand."""

    task: str
    seed: str  # makes the same snapshot again
    what: str


@dataclass
class Tally:
    """How many snapshots ended each task in which way."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    @property
    def tried(self) -> int:
        return sum(self.statuses.values())

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.statuses + other.statuses, self.findings + other.findings)

    def lines(self) -> Iterator[str]:
        for task in dict.fromkeys(task for task, _ in self.statuses):
            of_task = {status: count for (name, status), count in self.statuses.items() if name == task}
            parts = ", ".join(f"{count:,} with {status}" for status, count in sorted(of_task.items()))
            yield f"{task}: {sum(of_task.values()):,} snapshots; exit codes: {parts}"
        yield from (f"FINDING {one.task}, seed {one.seed}: {one.what}" for one in self.findings)


class Hang(BaseException):
    """Not an Exception, so that nothing takes it for a failure of its own."""


def attack(
    bases: Sequence[Path],
    count: int,
    seed: int,
    tasks: Sequence[str] = TASKS,
    changes: Sequence[Change] | None = None,
) -> Tally:
    """Hand `count` changed copies of the snapshots to the tasks by turns; ROCM_PERF_NATIVE_DIR names the runner."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="hostile-") as work:
        for number in range(count):
            mark = f"{seed}.{number}"
            snapshot = Path(work, "snap")
            shutil.copytree(bases[number % len(bases)], snapshot, symlinks=True)
            _tamper(snapshot, random.Random(mark), _CHANGES if changes is None else changes)
            task = tasks[number // len(bases) % len(tasks)]
            status, fault = _ran(task, snapshot)
            tally.statuses[task, status] += 1
            if fault:
                tally.findings.append(Finding(task=task, seed=mark, what=fault))
            _remove(snapshot)
    return tally


def _tamper(snapshot: Path, chance: random.Random, changes: Sequence[Change]) -> None:
    for _ in range(chance.choice((1, 1, 1, 2, 3)) if changes else 0):
        chance.choice(changes)(snapshot, chance)
        if chance.random() < 0.8:
            _correct_hashes(snapshot)


def _remove(snapshot: Path) -> None:
    if snapshot.is_symlink() or not snapshot.is_dir():
        snapshot.unlink(missing_ok=True)
    else:
        shutil.rmtree(snapshot)


def _ran(task: str, snapshot: Path) -> tuple[int, str]:
    """The exit code of a task, and what was wrong with its end; nothing if all was well."""
    out, err = io.StringIO(), io.StringIO()
    arguments = ["replay", task, str(snapshot)]
    arguments += [] if task == "info" else ["--timeout", str(TIMEOUT_S)]
    arguments += ["--iterations", "2"] if task == "full-vm" else []
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _within(_LIMIT_S):
            status = rocm_perf(arguments)
    except Hang:
        return -1, f"it did not end within {_LIMIT_S} s"
    except BaseException as error:  # noqa: BLE001  # whatever gets out of main is a finding
        return -1, f"{type(error).__name__} got out: {error}"
    return status, _fault(status, out.getvalue() + err.getvalue())


def _fault(status: int, text: str) -> str:
    if status not in DOCUMENTED:
        return f"exit code {status}: {text[-300:]}"
    if "Traceback" in text:
        return f"a traceback: {text[-300:]}"
    if "\x1b[31m" in text or "\u202e" in text:
        return f"what a file says reached the terminal: {text[-300:]!r}"
    return ""


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    def hang(_number: int, _frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, hang)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _correct_hashes(snapshot: Path) -> None:
    """As a stranger would who knows the format: what lies there is what the manifest says."""
    path = snapshot / "manifest.json"
    try:
        manifest = _document(path)
        for name, entry in manifest["files"].items():
            file = snapshot / name
            if entry.get("same_as") is None and _is_small(file):
                data = file.read_bytes()
                entry.update(size=len(data), sha256=hashlib.sha256(data).hexdigest())
        manifest["sha256"] = ""
        manifest["sha256"] = digest(json.dumps(manifest).encode(), "")
        path.write_text(json.dumps(manifest))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # there is not enough left of it


def _document(path: Path) -> Any:
    """A JSON file that is still one of the snapshot's own: nothing else is read here, or written."""
    if path.is_symlink() or not path.is_file():
        raise OSError(f"{path} is not a file any more")
    try:
        return json.loads(path.read_text())
    except RecursionError as error:
        raise ValueError(f"{path} is too deep") from error


def _is_small(file: Path) -> bool:
    return file.is_file() and file.stat().st_size <= 4 * BLOCK


def _edit_json(snapshot: Path, chance: random.Random) -> None:
    """Another value, key or order somewhere in one of the JSON files."""
    path = snapshot / chance.choice(_JSON_FILES)
    try:
        document = _document(path)
    except (OSError, ValueError):
        return
    places = list(_places(document))
    if not places:
        return
    for _ in range(chance.choice((1, 1, 2, 4))):
        holder, key = chance.choice(places)
        with contextlib.suppress(KeyError, IndexError, TypeError):
            chance.choice(_EDITS)(holder, key, chance)
    path.write_text(json.dumps(document))


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from _places(node[key])


def _other_value(holder: Any, key: Any, chance: random.Random) -> None:
    old = holder[key]
    if isinstance(old, bool):
        holder[key] = not old
    elif isinstance(old, int | float):
        holder[key] = chance.choice((*_NUMBERS, old + 1, old - 1, old * 2, -old))
    elif isinstance(old, str):
        near = (old + "0", old[:-1], old.upper(), old + "\n", hex(chance.getrandbits(48)))
        holder[key] = chance.choice((*_TEXTS, *near))
    else:
        holder[key] = chance.choice(([], {}, None, 0, "text", [old], [[0, 1]] * 3))


def _other_type(holder: Any, key: Any, chance: random.Random) -> None:
    holder[key] = chance.choice((None, True, 0, 1.5, "text", [], {}, [[]] * 3, {"a": {"b": []}}))


def _without(holder: Any, key: Any, _chance: random.Random) -> None:
    del holder[key]


def _twice(holder: Any, key: Any, chance: random.Random) -> None:
    if isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[chance.choice((*_TEXTS, f"{key}2"))] = holder[key]


def _swapped(holder: Any, key: Any, chance: random.Random) -> None:
    other = chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    holder[key], holder[other] = holder[other], holder[key]


def _deep(holder: Any, key: Any, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 50))):
        holder[key] = [holder[key]]


_EDITS = (_other_value, _other_value, _other_value, _other_type, _without, _twice, _swapped, _deep)


def _files(snapshot: Path) -> list[Path]:
    """Those that can be read here as a whole."""
    return sorted(file for file in snapshot.rglob("*") if not file.is_symlink() and _is_small(file))


def _edit_bytes(snapshot: Path, chance: random.Random) -> None:
    """A file that is cut, longer, changed somewhere, or empty."""
    file = chance.choice(_files(snapshot) or [snapshot / "new"])
    data = bytearray(file.read_bytes() if file.exists() else b"")
    at = chance.randrange(len(data) + 1)
    how = chance.randrange(6)
    if how == 0:
        del data[at:]
    elif how == 1:
        data[at:at] = chance.randbytes(chance.choice((1, 16, BLOCK)))
    elif how == 2:
        data[at : at + 8] = chance.choice(_NUMBERS[:6]).to_bytes(8, "little", signed=True)
    elif how == 3:
        data.clear()
    elif how == 4:
        data = bytearray(b'{"a":' * 100_000)
    else:
        data = bytearray(chance.randbytes(len(data)))
    file.write_bytes(data)


def _swap_files(snapshot: Path, chance: random.Random) -> None:
    files = _files(snapshot)
    if len(files) > 1:
        one, other = chance.sample(files, 2)
        first, second = one.read_bytes(), other.read_bytes()
        one.write_bytes(second)
        other.write_bytes(first)


def _replace_file(snapshot: Path, chance: random.Random) -> None:
    """Something else of the same name: a link, a pipe, a socket, a folder, nothing."""
    files = _files(snapshot)
    if not files:
        return
    file = chance.choice(files)
    file.unlink()
    how = chance.randrange(8)
    if how == 0:
        os.mkfifo(file)
    elif how == 1:
        file.mkdir()
    elif how == 2:
        _bind_socket(file)
    elif how < 7:
        others = (
            "/dev/zero",
            "/dev/full",
            "/etc/passwd",
            str(file),
            "/nowhere",
            str(snapshot),
            files[0].name,
        )
        file.symlink_to(chance.choice(others))


def _bind_socket(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one, contextlib.suppress(OSError):  # the name may be too long
        one.bind(str(file))


def _replace_folder(snapshot: Path, chance: random.Random) -> None:
    folder = snapshot / chance.choice(("memory", "after"))
    if not folder.is_dir() or folder.is_symlink():
        return
    shutil.rmtree(folder)
    if chance.random() < 0.5:
        folder.symlink_to(chance.choice(("/nowhere", ".", str(folder))))
    elif chance.random() < 0.5:
        folder.write_text("a file")


def _make_huge(snapshot: Path, chance: random.Random) -> None:
    """A sparse file, and a region and a manifest that speak of it."""
    files = [file for file in _files(snapshot) if file.suffix == ".bin"]
    if not files:
        return
    file = chance.choice(files)
    size = chance.choice((_HUGE, (1 << 40) + 1, 4 << 30, (4 << 20) + 1))
    with contextlib.suppress(OSError):  # the file system may not take it
        os.truncate(file, size)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        regions = _document(snapshot / "memory_regions.json")
        chance.choice(regions["regions"])["size"] = size
        (snapshot / "memory_regions.json").write_text(json.dumps(regions))
        manifest = _document(snapshot / "manifest.json")
        name = file.relative_to(snapshot).as_posix()
        if name in manifest["files"]:
            manifest["files"][name]["size"] = size
        (snapshot / "manifest.json").write_text(json.dumps(manifest))


def _pack_badly(snapshot: Path, chance: random.Random) -> None:
    """Frames that are not what the manifest says: too many, too large, or of something else."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        manifest = _document(snapshot / "manifest.json")
        entries = [entry for entry in manifest["files"].values() if entry.get("frames")]
        entry = chance.choice(entries)
        how = chance.randrange(4)
        if how == 0:
            entry["frames"] = entry["frames"] * chance.choice((2, 1000))
        elif how == 1:
            entry["frames"][0] = chance.choice((*_NUMBERS, 8 << 20))
        elif how == 2:
            entry["size"] = chance.choice((0, 1, 4 << 20, (4 << 20) + 1, entry["size"] * 2))
        else:
            entry["stored"] = "raw"
        (snapshot / "manifest.json").write_text(json.dumps(manifest))


_CHANGES: tuple[Change, ...] = (
    *itertools.repeat(_edit_json, 8),
    _edit_bytes,
    _edit_bytes,
    _swap_files,
    _replace_file,
    _replace_file,
    _replace_folder,
    _make_huge,
    _pack_badly,
)


def toy_bases(folder: Path) -> list[Path]:
    """Snapshots of the toy kernel that are right: compressed, raw, with a variable, and in the layout of guides."""
    variable = Toy(variable=bytes(4), variable_after=b"\1\0\0\0")
    bases = [
        make_snapshot(folder / "packed").folder,
        make_snapshot(folder / "raw", compress=False).folder,
        make_snapshot(folder / "variable", variable, compress=False).folder,
        make_snapshot(folder / "amd", Toy(vendor="AMD", gfx="gfx942"), compress=False).folder,
    ]
    return [*bases, _guides(bases[-1], folder / "guides")]


def _guides(ours: Path, target: Path) -> Path:
    """The same without what only our own layout has."""
    shutil.copytree(ours, target)
    (target / "manifest.json").unlink()
    shutil.rmtree(target / "after")
    launch = json.loads((target / "dispatch.json").read_text())
    theirs = {"mangled_name": launch["kernel"], "grid": launch["grid"], "block": launch["workgroup"]}
    (target / "dispatch.json").write_text(json.dumps({**theirs, "isa_name": "amdgcn-amd-amdhsa--gfx942"}))
    return target


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long (default 60)")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    begun = time.monotonic()
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="hostile-bases-") as folder:
        os.environ["ROCM_PERF_NATIVE_DIR"] = str(fake_runner(Path(folder, "native")))
        bases = toy_bases(Path(folder))
        for seed in itertools.count(args.seed):
            tally = tally + attack(bases, count=_BATCH, seed=seed)
            if time.monotonic() - begun > args.seconds:
                break
    print("\n".join(tally.lines()))
    print(f"{tally.tried:,} snapshots in {time.monotonic() - begun:.0f} s, seeds {args.seed} to {seed}")
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
