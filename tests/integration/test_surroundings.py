"""A program finds the surroundings that the user's shell would have given it, whichever verb starts it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fake_tools import fake_path
from tests.unit.replay.toys import fake_runner

pytestmark = pytest.mark.launches

PATIENCE_S = 300  # with a busy machine
OWN = (sys.executable, "-m", "rocm_perf.cli.main")
# Nothing here is as usual. Python does what no shell can.
SHELL = """
trap '' PIPE USR2 HUP
umask 027; ulimit -n 300; ulimit -c 0; ulimit -s 4096
cd "$1"; shift
exec 7< /dev/null 8>> eight
nice -n 3 "$@" < /dev/null >> out 2>> err
exit 0
"""
ODD_SIGNALS = """
import os, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # as the shell gave it to us
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGRTMIN + 2])
os.execvp(sys.argv[1], sys.argv[1:])
"""
FACTS = ("environ", "status", "limits", "stat", "fd", "cwd")
OPTIMIZED = "import sys; from rocm_perf.optimize.proof.program import Program; Program(tuple(sys.argv[1:])).finished()"


@dataclass(frozen=True)
class Starter:
    """A verb, the variables that it adds (a pattern), and what else differs below it."""

    name: str
    command: tuple[str, ...]
    adds: str = "nothing"
    changes: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


# What is measured runs quietly, and in a session of its own that can be ended as a whole.
QUIETLY = ("fd 0", "fd 1", "fd 2", "session")
STARTERS = (
    Starter("profile", (*OWN, "profile", "--no-analyze", "-d", "runs", "--")),
    Starter("sample", (*OWN, "sample", "-o", "s.csv", "--")),
    Starter("debug", (*OWN, "debug", "-d", "logs", "--"), adds="HIP_|AMD_|CUDA_LAUNCH_BLOCKING"),
    Starter(
        "capture",
        (*OWN, "capture", "--kernel", "k", "--vendor", "nvidia", "-o", "snapshot", "--"),
        adds="CUDA_INJECTION64_PATH|ROCM_PERF_CAPTURE_",
    ),
    # The loader of glibc holds its log open in the program.
    Starter("doctor", (*OWN, "doctor", "--"), adds="LD_DEBUG", changes=("fd 1", "fd 3", "fd 4")),
    Starter("bench", (*OWN, "bench", "--processes", "2", "--warmup", "0", "--"), changes=QUIETLY),
    Starter("optimize", (sys.executable, "-c", OPTIMIZED), changes=QUIETLY),
    Starter(
        "run", (*OWN, "run", "--here", "--tags", "app", "--catalogue", "../workloads.toml", "-d", "runs")
    ),
    # The launcher stands between: real ones give their ranks signals and variables of their own.
    Starter(
        "launch mpi",
        (*OWN, "launch", "mpi", "--ranks-per-node", "1", "--no-analyze", "-d", "runs", "--"),
        adds="ROCM_PERF_|OMPI_|PRTE_",
        changes=("SigIgn", "SigBlk"),
    ),
    # A profiler that starts the program itself does so in its own way: rocprofv3 and its stand-in are in Python.
    Starter(
        "profile with rocprofv3",
        (*OWN, "profile", "--no-analyze", "-d", "runs", "--"),
        adds="ROCPROF|LD_PRELOAD|HSA_|ROCP_|LC_CTYPE",
        changes=("SigIgn",),
        tools=("rocprofv3", "rocminfo"),
    ),
)


def _surroundings(folder: Path, shell: int) -> dict[str, str]:
    """Read what `cp` has copied of its own /proc/self, one entry for each fact."""
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    stat = (folder / "stat").read_text().rpartition(")")[2].split()
    entries = (folder / "environ").read_bytes().split(b"\0")
    limits = (
        line.split("  ")[0:1] + line.split()[-3:-1] for line in (folder / "limits").read_text().splitlines()
    )
    names = ("SigBlk", "SigIgn", "SigCgt", "Umask", "Cpus_allowed_list", "NoNewPrivs")
    return {
        **{
            f"variable {os.fsdecode(entry.partition(b'=')[0])}": os.fsdecode(entry)
            for entry in entries
            if entry
        },
        **{name: status[name].strip() for name in names},
        **{f"limit {name}": " ".join(values) for name, *values in limits},
        **{f"fd {link.name}": _target(link) for link in (folder / "fd").iterdir()},
        "working folder": os.readlink(folder / "cwd"),
        "session": "the shell's" if stat[3] == str(shell) else "another",
        "terminal": stat[4],
        "niceness": stat[16],
    }


def _target(link: Path) -> str:
    return re.sub(r"/proc/\d+", "/proc/PID", os.readlink(link)).replace(str(link.parents[1]), "COPIES")


def _started(
    tmp_path: Path, name: str, starter: tuple[str, ...], environment: dict[str, str]
) -> dict[str, str]:
    """Start `cp` from the odd shell and return the surroundings that it found."""
    copies, work = tmp_path / "copies" / name, tmp_path / "work"
    copies.mkdir(parents=True)
    work.mkdir(exist_ok=True)
    program = [
        "cp",
        "-R",
        "-d",
        "--remove-destination",
        *(f"/proc/self/{fact}" for fact in FACTS),
        str(copies),
    ]
    (tmp_path / "workloads.toml").write_text(f'[[workload]]\nname = "app"\ncommand = {json.dumps(program)}\n')
    starts_it = not starter or starter[-1] != "runs"
    shell = [
        "sh",
        "-c",
        SHELL,
        "sh",
        str(work),
        sys.executable,
        "-c",
        ODD_SIGNALS,
        *starter,
        *(program if starts_it else []),
    ]
    process = subprocess.Popen(shell, env=environment, start_new_session=True)
    process.wait(PATIENCE_S)
    assert (copies / "stat").is_file(), (work / "err").read_text()
    return _surroundings(copies, process.pid)


def _environment(tmp_path: Path, tools: tuple[str, ...]) -> dict[str, str]:
    """Return few variables, and odd ones: no language, from which Python would make one."""
    native, launchers = fake_runner(tmp_path / "native"), tmp_path / "launchers"
    launchers.mkdir()
    (launchers / "mpirun").write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    (launchers / "mpirun").chmod(0o755)
    return {
        "PATH": f"{launchers}:{fake_path(tmp_path, tools)['PATH']}",
        "HOME": str(tmp_path),
        "PWD": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
        "ROCM_PERF_NATIVE_DIR": str(native),
        "ODD": "a b\nc=\udcff",
        "EMPTY": "",
    }


@pytest.mark.parametrize("starter", STARTERS, ids=lambda starter: starter.name)
def test_a_program_finds_what_the_shell_would_have_given_it(tmp_path: Path, starter: Starter) -> None:
    environment = _environment(tmp_path, starter.tools)
    from_shell = _started(tmp_path, "shell", (), environment)
    found = _started(tmp_path, "verb", starter.command, environment)
    assert int(from_shell["SigIgn"], 16) >> (signal.SIGPIPE - 1) & 1
    assert int(from_shell["SigBlk"], 16) >> (signal.SIGALRM - 1) & 1
    different = {
        name: (from_shell.get(name), found.get(name))
        for name in {**from_shell, **found}
        if from_shell.get(name) != found.get(name) and name not in starter.changes
    }
    added = {
        name for name in different if re.match(f"variable ({starter.adds})", name) and name not in from_shell
    }
    assert {name: pair for name, pair in different.items() if name not in added} == {}
