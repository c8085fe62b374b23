"""Runs on a software machine: captures a kernel of a program, then replays it in each way that there is, and prints how
each step ended: `chain KERNEL SNAPSHOT PROGRAM...`."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path

from rocm_perf.cli.main import main


def chain(kernel: str, snapshot: str, program: list[str]) -> dict[str, object]:
    """The exit code of each step, and its report where it has one."""
    steps: dict[str, object] = {}
    capture = ["capture", "--json", "--no-compress", "--kernel", kernel, "-o", snapshot, "--", *program]
    steps["capture"], steps["captured"] = _step(capture)
    if not Path(snapshot).is_dir():
        return steps
    steps["reserve"], steps["reserved"] = _step(["replay", "reserve-check", snapshot, "--json"])
    steps["full-vm"], steps["timed"] = _step(["replay", "full-vm", snapshot, "--iterations", "1", "--json"])
    steps["verify"], steps["verified"] = _step(["replay", "verify", snapshot, "--json"])
    return steps


def _step(words: list[str]) -> tuple[int, object]:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = main(words)
    text = said.getvalue()
    return code, json.loads(text) if text.strip() else None


if __name__ == "__main__":
    print(json.dumps(chain(sys.argv[1], sys.argv[2], sys.argv[3:])))
