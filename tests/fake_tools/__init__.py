"""Stand-ins for the ROCm tools, as executables. `fake_path` puts chosen ones on a PATH."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
ROCM_TOOLS = (
    "rocprofv3",
    "rocprofv2",
    "rocprof",
    "rocprofv3-avail",
    "rocminfo",
    "amd-smi",
    "rocm-smi",
    "hipcc",
)
CUDA_TOOLS = ("nvidia-smi", "nvcc", "ncu")
SYSTEM_TOOLS = ("rocprof-sys-run", "rocprof-sys-python")
TOOLS = (*ROCM_TOOLS, *SYSTEM_TOOLS, *CUDA_TOOLS)


def fake_path(tmp_path: Path, tools: Iterable[str] = ROCM_TOOLS, **variables: str) -> dict[str, str]:
    """An environment in which exactly these tools are found, and no real one of ROCm; the rest of PATH stays.

    Further variables are set in it: `fake_path(tmp_path, FAKE_GPU="gfx1151")`.
    """
    folder = tmp_path / "fake-rocm" / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for tool in tools:
        if tool not in TOOLS:
            raise ValueError(f"there is no stand-in for {tool}")
        wrapper = folder / tool
        wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / tool}" "$@"\n')
        wrapper.chmod(0o755)
    others = [entry for entry in os.environ.get("PATH", "").split(os.pathsep) if not _holds_a_tool(entry)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FAKE_")}
    return {**kept, "PATH": os.pathsep.join([str(folder), *others]), **variables}


def _holds_a_tool(folder: str) -> bool:
    return any(os.access(os.path.join(folder, tool), os.X_OK) for tool in ROCM_TOOLS)


def run_tool(
    environment: dict[str, str],
    *command: str | Path,
    cwd: Path | None = None,
    stdin: str = "",
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run a command with those tools on its PATH."""
    return subprocess.run(
        [str(word) for word in command],
        env={**environment, **variables},
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
