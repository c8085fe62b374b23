"""Which GPU libraries a program really loads: real programs, linked with and opening stand-ins for the libraries."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rocm_perf.backends.machine import Machine, Tool
from rocm_perf.cli.main import main
from rocm_perf.collect.doctor.gpu_libraries import gpu_library
from rocm_perf.collect.doctor.loader_log import images_in
from rocm_perf.collect.doctor.program import watch_program
from rocm_perf.model.results.program_libraries import ProgramLibraries

pytestmark = pytest.mark.native

MACHINE = Machine(host="here")
# Opens every library that it is given, forks after the first, and runs the command behind --.
PROGRAM = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **arguments) {
  for (int i = 1; i < count; ++i) {
    if (!strcmp(arguments[i], "--")) { execvp(arguments[i + 1], arguments + i + 1); return 126; }
    if (!strcmp(arguments[i], "fork")) { if (fork() == 0) continue; int status; wait(&status); return 0; }
    if (!strcmp(arguments[i], "sleep")) { sleep(300); continue; }
    if (!dlopen(arguments[i], RTLD_NOW)) { puts(dlerror()); return 1; }
  }
  return 0;
}
"""


class Workshop:
    """A folder with programs and libraries, all of them compiled here."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = folder / "library.c"
        self.source.write_text(
            "static int loaded; __attribute__((constructor)) static void load() { loaded = 1; }\n"
        )

    def library(self, place: str, name: str, soname: str = "") -> Path:
        file = self.folder / place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        self.compile("-shared", "-fPIC", f"-Wl,-soname,{soname or name}", self.source, "-o", file)
        return file

    def program(self, *libraries: Path, name: str = "app") -> Path:
        source, file = self.folder / "app.c", self.folder / name
        source.write_text(PROGRAM)
        linked = [word for each in libraries for word in (each, f"-Wl,-rpath,{each.parent}")]
        self.compile(source, "-o", file, "-Wl,--no-as-needed", *linked, "-ldl")
        return file

    def compile(self, *words: object) -> None:
        subprocess.run(["cc", *map(str, words)], check=True, capture_output=True)


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler here")
    return Workshop(tmp_path)


def watched(*command: object, machine: Machine = MACHINE, timeout_s: float = 300) -> ProgramLibraries:
    return watch_program(tuple(map(str, command)), machine, os.environ, timeout_s)


def loaded(answer: ProgramLibraries) -> list[list[str]]:
    return [[library.name for library in process.libraries] for process in answer.processes]


def test_two_copies_in_one_process(workshop: Workshop) -> None:
    linked = workshop.library("opt/rocm/lib", "libamdhip64.so.7.2.1", "libamdhip64.so.7")
    (linked.parent / "libamdhip64.so.7").symlink_to(linked.name)
    (workshop.folder / "opt/rocm/.info").mkdir()
    (workshop.folder / "opt/rocm/.info/version").write_text("7.2.1-43\n")
    own = workshop.library("python3/site-packages/torch/lib", "libamdhip64.so")
    answer = watched(workshop.program(linked), own)
    assert answer.exit_code == 4
    assert "libamdhip64 is loaded twice in one process" in answer.verdict
    system, package = answer.processes[0].libraries
    assert (system.origin, system.owner, system.version) == ("system", "ROCm 7.2.1", "7.2.1")
    assert Path(system.path).name == "libamdhip64.so.7"
    assert (package.origin, package.owner, package.version) == ("package", "torch", "")
    (twice, own_copy) = answer.problems
    assert (twice.id, twice.severity) == ("library-loaded-twice", "error")
    assert own_copy.next_command.startswith("rocm-perf profile --profiler torch -- ")


def test_one_copy_of_each_is_fine(workshop: Workshop) -> None:
    libraries = [
        workshop.library("opt/rocm-7.2.0/lib", f"{name}.so") for name in ("libamdhip64", "libroctx64")
    ]
    machine = Machine(host="h", rocm_paths=(str(workshop.folder / "opt/rocm-7.2.0"),))
    answer = watched(workshop.program(libraries[0]), libraries[1], libraries[0], machine=machine)
    assert (answer.exit_code, answer.problems) == (0, ())
    assert loaded(answer) == [["libamdhip64", "libroctx64"]]
    assert answer.verdict == "Fine: one copy of each GPU library in 1 process."


def test_a_copy_that_hides_the_systems(workshop: Workshop) -> None:
    own = workshop.library("lib/python3/site-packages/torch/lib", "libamdhip64.so")
    there = workshop.library("opt/rocm/lib", "libamdhip64.so.7")
    machine = Machine(
        host="h",
        rocm_paths=(str(workshop.folder / "opt/rocm"),),
        tools={"rocprofv3": Tool(name="rocprofv3", path="/opt/rocm/bin/rocprofv3")},
    )
    answer = watched(workshop.program(), own, machine=machine)
    assert answer.exit_code == 4
    (finding,) = answer.problems
    assert finding.title == "the HIP runtime is torch's own copy, not the system's"
    assert f"it is used instead of {there}" in finding.evidence
    assert any("rocprofv3 here" in text for text in finding.evidence)
    assert watched(workshop.program(), own).exit_code == 0  # no profiler of the system's, nobody to be deaf


def test_children_and_programs_that_become_others(workshop: Workshop) -> None:
    hip, hsa, cuda = (
        workshop.library("lib", f"{name}.so") for name in ("libamdhip64", "libhsa-runtime64", "libcudart")
    )
    app = workshop.program()
    answer = watched(
        "sh", "-c", f"{app} {hip} & {app} {hip} fork {hsa}; wait; exec {app} {cuda} -- {app} {hsa}"
    )
    assert sorted(loaded(answer)) == [
        ["libamdhip64"],
        ["libamdhip64"],
        ["libamdhip64", "libhsa-runtime64"],
        ["libcudart"],
        ["libhsa-runtime64"],
    ]
    assert {process.program for process in answer.processes} == {str(app)}
    assert answer.other_processes >= 1  # the shell


def test_a_name_with_a_hash_and_other_folders() -> None:
    wheel = "/v/lib/python3.12/site-packages/nvidia/cuda_runtime/lib/libcudart-d0da41ae.so.12"
    library = gpu_library(wheel)
    assert library is not None
    assert (library.name, library.owner, library.version) == ("libcudart", "nvidia/cuda_runtime", "12")
    sdk = gpu_library("/v/lib/python3.12/site-packages/_rocm_sdk_core/lib/librocprofiler-sdk.so.1")
    assert sdk is not None
    assert (sdk.name, sdk.origin, sdk.owner) == ("librocprofiler-sdk", "package", "_rocm_sdk_core")
    driver = gpu_library("/usr/lib/x86_64-linux-gnu/libcuda.so.580.65")
    assert driver is not None
    assert (driver.origin, driver.version) == ("system", "580.65")
    assert gpu_library("/usr/lib/libcudnn.so.9") is None
    assert gpu_library("/usr/lib/libz.so.1") is None


def test_a_program_without_a_gpu_library(workshop: Workshop) -> None:
    answer = watched(workshop.program())
    assert (answer.exit_code, answer.processes) == (5, ())
    assert answer.verdict.startswith("It loads no GPU library")


def test_a_static_program(workshop: Workshop) -> None:
    source = workshop.folder / "static.c"
    source.write_text("int main(void) { return 0; }\n")
    try:
        workshop.compile("-static", source, "-o", workshop.folder / "static")
    except subprocess.CalledProcessError:
        pytest.skip("this machine has no static C library")
    answer = watched(workshop.folder / "static")
    assert answer.exit_code == 5
    assert answer.verdict.startswith("Unknown")
    assert "linked statically" in answer.notes[0]
    cleared = watched("env", "-i", workshop.folder / "static")
    assert cleared.verdict.startswith("It loads no GPU library")


def test_a_server_is_not_waited_for(workshop: Workshop) -> None:
    hip = workshop.library("lib", "libamdhip64.so")
    answer = watched(workshop.program(), hip, "sleep", timeout_s=4)
    assert answer.timed_out
    assert answer.wall_s < 200  # of 300 s that it sleeps
    assert loaded(answer) == [["libamdhip64"]]
    assert "--timeout" in answer.notes[0]


def test_a_program_that_fails(workshop: Workshop) -> None:
    answer = watched("sh", "-c", "exit 3")
    assert answer.program_status == 3
    assert answer.notes == (
        "the program failed with exit code 3: what it would have loaded later is not known",
    )


def test_the_command_line(workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> None:
    hip, own = workshop.library("a", "libamdhip64.so"), workshop.library("b", "libamdhip64.so")
    app = workshop.program(hip)
    assert main(["doctor", "--", str(app), str(own)]) == 4
    text = capsys.readouterr().out
    assert text.startswith("Doubtful: libamdhip64 is loaded twice")
    assert max(map(len, text.splitlines())) <= 80 or str(own) in text
    assert main(["doctor", "--json", "--", str(app), str(own)]) == 4
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert [library["path"] for library in document["processes"][0]["libraries"]] == [str(hip), str(own)]
    assert main(["doctor", "--", str(workshop.folder / "absent")]) == 2
    assert "there is no application" in capsys.readouterr().err


def test_what_a_program_prints_stays_out_of_the_answer(workshop: Workshop) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rocm_perf.cli.main", "doctor", "--json", "--", "echo", "loud"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout)["exit_code"] == done.returncode == 5
    assert "loud\n" in done.stderr


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["nonsense", "   12:", "12:\tcalling init: ", "x: calling init: /a"],
        ["7:\tcalling init: /a/libamdhip64.so", "7:\tfile=b [0];  needed by c [0]"],
    ],
)
def test_damaged_logs_are_read_as_far_as_they_go(lines: list[str]) -> None:
    assert len(images_in(lines)) <= 2
