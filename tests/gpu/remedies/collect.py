"""Bring what measure.py left together: cases.jsonl, and the recordings that are small enough to keep.

python tests/gpu/remedies/collect.py OUT [OUT ...] --recordings FOLDER --to FOLDER; every OUT is a results.jsonl
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import statistics
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.gpu.remedies.catalogue import PROGRAMS, Program

LARGEST_BYTES = 400_000  # of a recording that is kept in the repository
CUT_TO_S = {
    "hf_generate": 0.5,
    "flax_train": 0.6,
}  # recordings of which only the end is kept: half a call, the loop
TIMED = b"kcmwaro"  # tables of an .rptrace whose first column is a time
Row = dict[str, Any]


def blocks(recording: bytes) -> Iterator[bytes]:
    """Yield the contents of the blocks of an .rptrace."""
    at = 8
    while at < len(recording):
        size, _ = struct.unpack_from("<II", recording, at)
        yield recording[at + 8 : at + 8 + size]
        at += 8 + size


def columns(table: bytes) -> list[tuple[int, np.ndarray]]:
    """Return what is subtracted from each column of a table, and the column; of one of no width, only zeros."""
    count, rows = struct.unpack_from("<HI", table, 2)
    heads = [struct.unpack_from("<qB", table, 8 + 9 * number) for number in range(count)]
    at, found = 8 + 9 * count, []
    for base, width in heads:
        found.append((base, np.frombuffer(table, f"<u{width}", rows, at) if width else np.zeros(rows, "V0")))
        at += width * rows
    return found


def values(base: int, column: np.ndarray) -> np.ndarray:
    """Return the numbers that a column stands for."""
    return base + (column.astype(np.int64) if column.dtype.itemsize else np.zeros(len(column), np.int64))


def since(table: bytes, begin_ns: int) -> bytes:
    """Return a table without the rows that began before a time."""
    found = columns(table)
    rows = np.flatnonzero(values(*found[0]) >= begin_ns)
    heads = [struct.pack("<qB", base, column.dtype.itemsize) for base, column in found]
    bodies = [column[rows].tobytes() for _, column in found]
    return table[:2] + struct.pack("<HI", len(found), len(rows)) + b"".join(heads + bodies)


def without(texts: bytes, used: set[int]) -> bytes:
    """Return a block of texts in which those that no row names are empty."""
    first, count = struct.unpack_from("<II", texts, 1)
    lengths = struct.unpack_from(f"<{count}I", texts, 9)
    at, kept = 9 + 4 * count, []
    for number, length in enumerate(lengths, first):
        kept.append(texts[at : at + length] if number in used else b"")
        at += length
    return texts[:9] + struct.pack(f"<{count}I", *map(len, kept)) + b"".join(kept)


def end_of(parts: list[bytes], length_s: float) -> list[bytes]:
    """Return the blocks of an .rptrace with only what began in its last seconds."""
    last_ns = max(int(values(*columns(part)[0]).max(initial=0)) for part in parts if part[:2] == b"Tk")
    begin_ns = last_ns - int(1e9 * length_s)
    parts = [since(part, begin_ns) if part[:1] == b"T" and part[1:2] in TIMED else part for part in parts]
    named = [columns(part)[3:] for part in parts if part[:1] == b"T" and part[1:2] in TIMED]
    used = {int(number) for table in named for column in table for number in np.unique(values(*column))}
    return [without(part, used) if part[:1] == b"S" else part for part in parts]


def shortened(recording: bytes, name: str) -> bytes:
    """Return an .rptrace that names the program as a user would type it, and holds the end of what is too long."""
    parts = list(blocks(recording))
    parts[0] = re.sub(
        rb" --gate \S+", b"", re.sub(rb'"command": "\S*python3', b'"command": "python3', parts[0])
    )
    if name in CUT_TO_S:
        parts = end_of(parts, CUT_TO_S[name])
    return recording[:8] + b"".join(struct.pack("<II", len(part), zlib.crc32(part)) + part for part in parts)


def kept_files(program: Program, recordings: Path, to: Path) -> list[Row]:
    """Compress the recordings of a program; those that are too large stay where they are, and are listed."""
    files = []
    for file in sorted((recordings / f"{program.name}.cupti").rglob("*.rptrace")):
        rank = f".rank{re.search('rank([0-9]+)', file.name)[1]}" if program.processes > 1 else ""
        files.append(
            ("cupti", f"{program.name}{rank}.rptrace.zst", shortened(file.read_bytes(), program.name))
        )
    for file in recordings.glob(f"{program.name}.pt.trace.json.gz"):
        content = gzip.decompress(file.read_bytes())
        files.append(("torch", f"{program.name}.pt.trace.json.zst", content))
    rows = []
    for recorder, name, content in files:
        small = gzip.compress(content, 6)
        if len(small) <= 2 * LARGEST_BYTES:  # else no level makes it small enough
            small = zstandard.ZstdCompressor(level=19).compress(content)
        row: Row = {"recorder": recorder, "file": name, "bytes": len(small)}
        if recorder == "cupti" and program.name in CUT_TO_S:
            row["last_s"] = CUT_TO_S[program.name]
        if len(small) > LARGEST_BYTES:
            row["kept"] = "no: too large"
        else:
            (to / name).write_bytes(small)
        rows.append(row)
    return rows


def costs(program: Program, recordings: Path) -> Row:
    """Return what the tracer added to a launch and to a kernel of a graph, as the record of the run says."""
    file = next((recordings / f"{program.name}.cupti").rglob("rocm-perf-run.json"))
    record = json.loads(file.read_text())
    return {key: record[key] for key in ("launch_cost_ns", "graph_kernel_cost_ns")}


def measured(program: Program, rows: list[Row]) -> Row:
    """Return the rates of each variant: all repeats of each process, and their gains over the base."""
    variants: Row = {}
    for variant in program.variants:
        mine = [row for row in rows if row["variant"] == variant and "steps_per_s" in row]
        medians = [row["items_per_s"] for row in mine]
        variants[variant] = {
            "remedy": program.remedies.get(variant, "none"),
            "items_per_step": mine[0]["items_per_step"],
            "items_per_s": statistics.mean(medians),  # of the medians of the processes
            "processes": [
                [round(rate, 4) for rate in row["all_steps_per_s"]] for row in mine
            ],  # steps per second
        }
        base = variants["base"]["items_per_s"]
        variants[variant]["gain"] = round(variants[variant]["items_per_s"] / base, 4)
        variants[variant]["saved"] = round(1 - base / variants[variant]["items_per_s"], 4)
    return variants


def main() -> None:
    parser = argparse.ArgumentParser(description="Bring results together; see the head of this file.")
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--recordings", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    args = parser.parse_args()
    args.to.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for file in args.results for line in file.read_text().splitlines()]
    machine = next(row for row in rows if row["part"] == "machine")
    lines = [{**machine, "gpu": "NVIDIA H200", "cuda": "13.0"}]
    for program in PROGRAMS:
        mine = [row for row in rows if row.get("program") == program.name]
        recorded = next(row for row in mine if row["part"] == "cupti" and "us_per_step" in row)
        lines.append({
            "program": program.name,
            "libraries": {name: machine.get(name, "") for name in map(_distribution, program.libraries)},
            "kept_back": program.kept_back,
            "expert": program.expert,
            "variants": measured(program, [row for row in mine if row["part"].startswith("round")]),
            "recorded": {
                "steps": recorded["steps"], "us_per_step": recorded["us_per_step"],
                "torch_steps": program.torch_steps, **costs(program, args.recordings),
            },
            "files": kept_files(program, args.recordings, args.to),
        })  # fmt: skip
    (args.to / "cases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def _distribution(library: str) -> str:
    names = {"cupy": "cupy-cuda13x", "nccl": "nvidia-nccl-cu13", "torch_geometric": "torch-geometric"}
    return names.get(library, library)


if __name__ == "__main__":
    main()
