"""The testbed's Makefile: hipcc where it is installed, else nvcc; and each rule builds its own program."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TESTBED = Path(__file__).parents[3] / "testbed"
SOURCES = {path.stem: path for path in TESTBED.iterdir() if path.suffix in (".cpp", ".cu", ".hip")}


def commands(folder: Path, *words: str) -> list[str]:
    """What `make` would run, with only the programs in the folder installed beside the shell's own."""
    for name in ("make", "sh", "cat"):
        (folder / name).symlink_to(shutil.which(name) or pytest.skip(f"{name} is not installed"))
    argv = ["make", "--dry-run", "--always-make", "-C", str(TESTBED), *words]
    done = subprocess.run(argv, capture_output=True, text=True, env={"PATH": str(folder)}, check=True)
    return [line for line in done.stdout.splitlines() if " -o " in line]


def test_every_program_has_its_rule(tmp_path: Path) -> None:
    lines = commands(tmp_path, "GPU=sm_90")
    built = {line.split()[-2]: line.split()[-1] for line in lines}
    assert built == {name: path.name for name, path in SOURCES.items()}
    assert all(line.startswith("nvcc -x cu -O3 -arch=sm_90") for line in lines)


def test_hipcc_comes_first(tmp_path: Path) -> None:
    (tmp_path / "hipcc").write_text("#!/bin/sh\n")
    (tmp_path / "hipcc").chmod(0o755)
    (line,) = commands(tmp_path, "softmax_testbed")
    assert line == "hipcc -x hip -O3 --offload-arch=native -o softmax_testbed softmax_testbed.cpp"


@pytest.mark.native
@pytest.mark.parametrize("name", SOURCES)
def test_programs_build_with_nvcc(name: str, tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    argv = [
        "nvcc",
        "-x",
        "cu",
        "-O1",
        "-arch=sm_90",
        "-cubin",
        "-o",
        str(tmp_path / "out"),
        str(SOURCES[name]),
    ]
    done = subprocess.run(argv, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stderr
