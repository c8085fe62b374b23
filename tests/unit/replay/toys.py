"""Drafts and snapshots of a toy kernel, and the stand-in runner that replays them."""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf.replay.finish import Making, finish
from rocm_perf.replay.json_files import digest
from rocm_perf.replay.snapshot import Snapshot

BLOCK = 64 << 10
BASE = 0x7F0000010000
OTHER = 0x7F0004000000
COUNT = 64  # f32 values that the kernel changes
KERNEL = "_Z5scalePf"
RUNNER = Path(__file__).parents[2] / "native" / "fake_runner"
# Without site-packages, and compiled once: it is started about a thousand times.
START = f"""#!{sys.executable} -IS
import sys
sys.path.insert(0, {str(RUNNER)!r})
from replay_fake import main
sys.exit(main())
"""


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


@dataclass
class Toy:
    """One captured launch: 64 work-items in 4 groups add 1 to 64 values."""

    program: Sequence[str] = (f"add 0x{BASE:x} {COUNT} 1",)
    grid: tuple[int, int, int] = (COUNT, 1, 1)
    workgroup: tuple[int, int, int] = (16, 1, 1)
    before: bytes = floats(*range(COUNT)) + bytes(2 * BLOCK - 4 * COUNT)
    after: bytes = floats(*(value + 1 for value in range(COUNT))) + bytes(2 * BLOCK - 4 * COUNT)
    constant: bytes = b"\x11" * BLOCK + bytes(BLOCK)  # of a region that the kernel only reads
    variable: bytes = b""  # before the kernel, of a u32 named `calls`
    variable_after: bytes = b""
    variable_base: int = 0x5000
    gfx: str = "sm_90"
    vendor: str = "NVIDIA"
    kernarg_address: str | None = None
    extra: list[dict[str, object]] = field(default_factory=list)  # entries of memory_regions.json


def code_text(*program: str, kernel: str = KERNEL) -> str:
    return "\n".join([".version toy", f"kernel {kernel}", *program, ""])


def write_draft(folder: Path, toy: Toy) -> Path:
    """As the native library would write it."""
    for part in ("memory", "after"):
        (folder / part).mkdir(parents=True)
    code = "kernel.cubin" if toy.vendor == "NVIDIA" else "kernel.hsaco"
    (folder / code).write_text(code_text(*toy.program))
    (folder / "kernarg.bin").write_bytes(struct.pack("<Q", BASE))
    dispatch = {
        "version": 1, "vendor": toy.vendor, "kernel": KERNEL, "name": "scale(float*)", "dispatch": 3, "launch": 17,
        "grid": toy.grid, "workgroup": toy.workgroup, "dynamic_lds_bytes": 128, "group_segment_bytes": 64,
        "private_segment_bytes": 0, "kernarg": {"size": 8, "address": toy.kernarg_address},
        "parameters": [{"offset": 0, "size": 8}],
        "device": {"index": 0, "name": "Toy", "gfx": toy.gfx, "uuid": "u", "memory_bytes": 1 << 30},
        "driver": "toy 1", "runtime": "toy 2", "attributes": {"cooperative": False, "cluster": [1, 1, 1]},
        "code_object": code, "pid": 1, "command": ["app", "--x"],
    }  # fmt: skip
    (folder / "dispatch.json").write_text(json.dumps(dispatch))
    regions = [
        write_region(folder, BASE, toy.before, toy.after),
        write_region(folder, OTHER, toy.constant, toy.constant),
    ]
    if toy.variable:
        entry = write_region(folder, toy.variable_base, toy.variable, toy.variable_after)
        regions.append({**entry, "kind": "global", "name": "calls"})
    (folder / "memory_regions.json").write_text(json.dumps({"version": 1, "regions": [*regions, *toy.extra]}))
    account = {
        "version": 1,
        "state": "captured",
        "launches": 20,
        "matched": 3,
        "names_seen": {"scale(float*)": 5},
    }
    (folder / "capture.json").write_text(json.dumps(account))
    return folder


def write_region(folder: Path, base: int, before: bytes, after: bytes) -> dict[str, object]:
    """Write a region's contents before and after the kernel; returns its entry of memory_regions.json."""
    name = f"region_{base:x}.bin"
    _sparse(folder / "memory" / name, before, range(0, len(before), BLOCK))
    blocks = [at for at in range(0, len(before), BLOCK) if before[at : at + BLOCK] != after[at : at + BLOCK]]
    if blocks:
        _sparse(folder / "after" / name, after, blocks)
    changed: list[list[int]] = []
    for at in blocks:  # those that meet are one, as the native library has it
        size = len(after[at : at + BLOCK])
        if changed and sum(changed[-1]) == at:
            changed[-1][1] += size
        else:
            changed.append([at, size])
    return {
        "base": hex(base),
        "size": len(before),
        "kind": "device",
        "device": 0,
        "saved": True,
        "changed": changed,
    }


def _sparse(path: Path, data: bytes, blocks: Sequence[int]) -> None:
    with path.open("wb") as file:
        file.truncate(len(data))
        for at in blocks:
            if any(data[at : at + BLOCK]):
                file.seek(at)
                file.write(data[at : at + BLOCK])


def make_snapshot(
    folder: Path, toy: Toy | None = None, *, compress: bool = True, outputs: bool = True
) -> Snapshot:
    draft = write_draft(folder / "draft", toy or Toy())
    return finish(draft, folder / "snap", Making(compress, outputs), lambda _: None)


def rewrite_manifest(folder: Path, **changes: object) -> None:
    """With a right digest, as another writer would make it."""
    manifest = {**json.loads((folder / "manifest.json").read_text()), **changes, "sha256": ""}
    manifest["sha256"] = digest(json.dumps(manifest).encode(), "")
    (folder / "manifest.json").write_text(json.dumps(manifest))


def rewrite_entry(folder: Path, name: str, **changes: object) -> None:
    """What the manifest says of one file."""
    files = json.loads((folder / "manifest.json").read_text())["files"]
    rewrite_manifest(folder, files={**files, name: {**files[name], **changes}})


def forge(folder: Path, name: str, content: object) -> None:
    """Another content of a JSON file, with right hashes everywhere."""
    data = json.dumps(content).encode()
    (folder / name).write_bytes(data)
    rewrite_entry(folder, name, size=len(data), sha256=hashlib.sha256(data).hexdigest())


def forge_launch(folder: Path, **changes: object) -> None:
    forge(folder, "dispatch.json", {**json.loads((folder / "dispatch.json").read_text()), **changes})


def fake_runner(folder: Path) -> Path:
    """A folder for ROCM_PERF_NATIVE_DIR."""
    folder.mkdir(exist_ok=True)
    for name in ("replay_cuda", "replay_hsa"):
        file = folder / name
        file.write_text(START)
        file.chmod(0o755)
    for name in ("librocm_perf_capture_cuda.so", "librocm_perf_capture_hsa.so"):
        (folder / name).write_text("a stand-in: the test's program writes the draft itself")
    return folder
