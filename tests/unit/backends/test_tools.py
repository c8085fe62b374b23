"""Looking for programs and asking them."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from rocm_perf.backends import tools
from rocm_perf.backends.probe import programs
from rocm_perf.backends.tools import Program, ask, examine, find_program, rocm_release
from tests.fake_tools import CUDA_TOOLS, TOOLS, fake_path
from tests.unit.backends.machines import write

BY_NAME = {program.name: program for program in programs()}


def script(folder: Path, name: str, text: str) -> str:
    path = write(folder / name, f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("name", "output", "version"),
    [
        ("rocprof-compute", "rocprofiler-compute version: 3.1.0 (release)\nGit revision: 1234567", "3.1.0"),
        ("rocprof-sys", "rocprof-sys-run v1.0.0 (rev: 5cbb9b5, x86_64-linux-gnu)", "1.0.0"),
        (
            "ncu",
            "NVIDIA (R) Nsight Compute\nVersion 2025.3.1.0 (build 36398880) (public-release)",
            "2025.3.1.0",
        ),
        ("nsys", "NVIDIA Nsight Systems version 2024.6.2.225-246235244400v0", "2024.6.2.225"),
        ("c++", "c++ (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022", "12.2.0"),
        ("c++", "Ubuntu clang version 18.1.3 (1ubuntu1)\nTarget: x86_64-pc-linux-gnu", "18.1.3"),
        (
            "amd-smi",
            "AMDSMI Tool: 26.2.0+021c61fc | AMDSMI Library version: 26.2.0 | ROCm version: 7.1.1",
            "26.2.0",
        ),
        ("rocprofv3", "\x00\xff}{ garbage 12", ""),
    ],
)
def test_a_version_is_read_from_the_tools_own_words(
    tmp_path: Path, name: str, output: str, version: str
) -> None:
    write(tmp_path / "words", output)
    path = script(tmp_path, "tool", f'cat "{tmp_path}/words"')
    found = examine(BY_NAME[name], path, os.environ)
    assert (found.version, found.problem) == (version, "")


def test_every_stand_in_says_its_version(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, TOOLS, FAKE_ROCM="7.2")
    folders = tools.path_folders(environment)
    asked = [BY_NAME[name] for name in TOOLS if name in BY_NAME]
    found = {program.name: examine(program, find_program(program, folders), environment) for program in asked}
    said = ("rocprofv3", "rocprofv2", "rocprof", "amd-smi")
    assert {name: found[name].rocm for name in said} == dict.fromkeys(said, "7.2.0")
    assert found["rocprofv3"].version == "1.1.0"
    assert found["rocprofv2"].version == found["rocprof"].version == "2.0"
    assert found["hipcc"].version == "7.2.60610"
    assert found["nvcc"].version == "13.0"
    assert not any(found[name].rocm for name in CUDA_TOOLS if name in found)
    assert not any(tool.problem for tool in found.values())


def test_tools_that_their_release_does_not_have(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprofv3", "rocprofv3-avail"], FAKE_ROCM="5.7")
    for name in ("rocprofv3", "rocprofv3-avail"):
        path = find_program(BY_NAME[name], tools.path_folders(environment))
        assert "ROCm 5.7 has no such tool" in examine(BY_NAME[name], path, environment).problem


@pytest.mark.launches
def test_a_tool_that_all_ranks_of_a_job_ask_at_once_has_more_time(tmp_path: Path) -> None:
    path = script(tmp_path, "slow", "sleep 6; echo version 1.2")
    assert ask([str(path)], {**os.environ, "SLURM_PROCID": "3"}).text == "version 1.2\n"


def test_a_tool_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    path = script(tmp_path, "hangs", f'sleep 600 & echo $! > "{tmp_path}/child"; wait')
    begin = time.monotonic()
    answer = ask([path, "--version"], os.environ, limit_s=5)
    assert time.monotonic() - begin < 120  # not the 600 s that it sleeps
    assert answer.problem == "gives no answer to --version within 5 s"
    child = (tmp_path / "child").read_text().strip()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and _lives(child):
        time.sleep(0.05)
    assert not _lives(child)


def _lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_tool_that_leaves_a_child_behind_answers_all_the_same(tmp_path: Path) -> None:
    path = script(tmp_path, "forks", "sleep 600 & echo version 1.2")
    answer = ask([path], os.environ, limit_s=5)
    assert (answer.status, answer.problem, answer.text) == (0, "", "version 1.2\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kill -SEGV $$", "crashes: SIGSEGV"),
        (
            "echo 'error while loading shared libraries: libx.so' >&2; exit 127",
            "cannot be run: error while loading",
        ),
        ("exit 126", "cannot be run: no such program behind it"),
        ("yes garbage", "prints without end"),
    ],
)
def test_a_tool_that_fails_gets_a_problem(tmp_path: Path, text: str, problem: str) -> None:
    found = examine(BY_NAME["rocprofv3"], script(tmp_path, "tool", text), os.environ)
    assert found.problem.startswith(problem)
    assert found.version == ""


def test_an_option_that_it_does_not_know_is_no_problem(tmp_path: Path) -> None:
    path = script(tmp_path, "tool", "echo 'version: 9.9' ; echo 'unrecognized arguments' >&2; exit 2")
    found = examine(BY_NAME["rocprofv3"], path, os.environ)
    assert (found.version, found.problem) == ("", "")


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    path = write(tmp_path / "tool", "\x7fnot an ELF file")
    path.chmod(0o755)
    assert examine(BY_NAME["ncu"], str(path), os.environ).problem == "cannot be started: Exec format error"


def test_a_preloaded_profiler_stays_out_of_the_questions(tmp_path: Path) -> None:
    path = script(tmp_path, "tool", 'echo "[$LD_PRELOAD][$ROCP_TOOL_LIBRARIES][$KEPT]"')
    environment = {
        **os.environ,
        "LD_PRELOAD": "librocprofiler.so",
        "ROCP_TOOL_LIBRARIES": "x.so",
        "KEPT": "kept",
    }
    assert ask([path], environment).text == "[][][kept]\n"


def test_the_first_name_in_the_first_folder_counts(tmp_path: Path) -> None:
    program = Program("rocprof-sys", files=("new", "old"))
    script(tmp_path / "a", "old", "")
    script(tmp_path / "b", "new", "")
    write(tmp_path / "a" / "new", "not executable")
    assert find_program(program, [str(tmp_path / "a"), str(tmp_path / "b")]) == str(tmp_path / "a" / "old")
    assert find_program(program, [str(tmp_path / "c")]) == ""


@pytest.mark.parametrize(
    ("folder", "file", "release"),
    [
        ("rocm-7.2.0", "", "7.2.0"),
        ("rocm", "7.1.1-38\n", "7.1.1"),
        ("core-10.0", "", "10.0"),
        ("local", "", ""),
    ],
)
def test_the_release_of_a_folder(tmp_path: Path, folder: str, file: str, release: str) -> None:
    prefix = tmp_path / folder
    prefix.mkdir()
    if file:
        write(prefix / ".info" / "version", file)
    assert rocm_release(prefix) == release
    path = script(prefix / "bin", "rocprofv3", "exit 2")
    assert examine(BY_NAME["rocprofv3"], path, os.environ).rocm == release


def test_a_tool_is_not_asked_where_that_would_open_a_window(tmp_path: Path) -> None:
    path = script(tmp_path, "rgp", f'touch "{tmp_path}/started"')
    examine(BY_NAME["rgp"], path, os.environ)
    assert not (tmp_path / "started").exists()
    subprocess.run([path], check=True)
    assert (tmp_path / "started").exists()
