"""A profiler is added by its class and its place in the list: everything else follows from what it says of itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocm_perf.backends import probe, profilers
from rocm_perf.backends.base import Command, Profiler, Wish
from rocm_perf.backends.machine import Machine
from rocm_perf.backends.tools import Program
from rocm_perf.cli.main import main
from rocm_perf.collect.doctor.conflicts import preloaded_profilers
from rocm_perf.collect.doctor.methods import methods
from rocm_perf.collect.doctor.report import report
from rocm_perf.collect.plan.plan import plans
from rocm_perf.collect.request.request import Request
from rocm_perf.collect.run.session import record
from rocm_perf.errors import ToolAbsentError
from tests.unit.backends.machines import lay_out_amd
from tests.unit.collect.sessions import Sessions, sessions

__all__ = ["sessions"]

NAME = "sonar"
OUT = Path("/out")
# A tool that runs the application and writes one kernel, in a layout that is known.
SCRIPT = """#!/bin/sh
[ "$1" = --version ] && { echo 'sonar version 1.4'; exit 0; }
folder="$1"; shift
"$@"; code=$?
file="$folder/1_kernel_trace.csv"
echo Kind,Agent_Id,Queue_Id,Kernel_Name,Start_Timestamp,End_Timestamp,Dispatch_Id,Correlation_Id > "$file"
echo KERNEL_DISPATCH,4,1,ping,10,20,1,1 >> "$file"
exit $code
"""


class SonarProfiler(Profiler):
    """Hears kernels of AMD's GPUs, and nothing else."""

    name = tool = NAME
    why = "it is the quietest"
    offers = "an echo"
    vendor = "AMD"
    domains = ("kernel",)
    programs = (Program(NAME),)
    preloads = ("libsonar",)
    own_method = "echo"

    def refusal(self, wish: Wish, machine: Machine) -> str:
        if wish.purpose != "trace":
            return "sonar hears kernels alone"
        return "" if self.is_here(machine) else "there is no sonar"

    def install(self, machine: Machine) -> str:
        return "" if self.is_here(machine) else "apt install sonar"

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        return Command(argv=(machine.tools[NAME].path, str(folder), *app), expected=("*_kernel_trace.csv",))


@pytest.fixture(autouse=True)
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profilers, "PROFILERS", {NAME: SonarProfiler(), **profilers.PROFILERS})


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A probed machine with one GPU and the tool on PATH."""
    script = tmp_path / "bin" / NAME
    script.parent.mkdir()
    script.write_text(SCRIPT)
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return probe.probe_machine({"PATH": str(script.parent)}, lay_out_amd(tmp_path / "root"))


def asked(wish: Wish, **more: object) -> Request:
    return Request(command=("./app",), wish=wish, **more)  # type: ignore[arg-type]


def test_the_probe_finds_its_program(machine: Machine) -> None:
    assert machine.tools[NAME].version == "1.4"


def test_plans_begin_with_it_and_say_what_it_lacks(machine: Machine) -> None:
    first, *others = plans(asked(Wish(domains=("kernel", "hip"), att=True)), machine, OUT)
    assert (first.profiler, first.why) == (NAME, "it is the quietest")
    assert [run.command.argv[-2:] for run in first.runs] == [("/out/pass_1", "./app")]
    assert first.could_not == (
        "thread trace: sonar hears kernels alone; what remains: an echo, timing",
        "hip trace: sonar has none",
    )
    assert [each.profiler for each in others] == ["timing"]


def test_it_can_be_forced_and_refuses_in_its_own_words(machine: Machine) -> None:
    (alone,) = plans(asked(Wish(domains=("kernel",)), profiler=NAME), machine, OUT)
    assert alone.profiler == NAME
    with pytest.raises(ToolAbsentError, match="there is no sonar"):
        plans(asked(Wish(domains=("kernel",)), profiler=NAME), Machine(host="h"), OUT)


def test_a_dry_run_shows_its_command(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(probe, "probe_machine", lambda: machine)
    assert main(["profile", "--dry-run", "--", "true"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("sonar: it is the quietest\n")
    assert "writes *_kernel_trace.csv" in printed


def test_the_doctor_knows_it(machine: Machine) -> None:
    matrix = {each.method: each for each in methods(machine.gpus[0], machine, profilers.PROFILERS)}
    assert (matrix["echo"].works, matrix["echo"].through) == ("yes", NAME)
    assert (matrix["kernel trace"].works, matrix["kernel trace"].through) == ("yes", NAME)
    assert matrix["API trace"].works == "no"
    diagnosis = report(machine, profilers.PROFILERS)
    assert diagnosis.exit_code == 0
    assert diagnosis.verdict[0].startswith("Yes: echo and kernel trace work on ")
    assert NAME in {fact.label for fact in diagnosis.tools}


def test_the_doctor_says_how_to_get_it(machine: Machine) -> None:
    without = Machine(host="h", gpus=machine.gpus, device_nodes=machine.device_nodes)
    matrix = {each.method: each for each in methods(without.gpus[0], without, profilers.PROFILERS)}
    for method in ("echo", "kernel trace"):
        assert (matrix[method].works, matrix[method].remedy) == ("no", "apt install sonar")
    assert matrix["kernel trace"].reason == "sonar is not installed"


def test_a_session_records_with_it(machine: Machine, sessions: Sessions, tmp_path: Path) -> None:
    request = Request(
        command=("sh", "-c", "exit 0"), wish=Wish(domains=("kernel",)), output=str(tmp_path / "runs")
    )
    done = record(request, machine, sessions.said.append)
    assert (done.exit_code, done.record.profiler, done.record.profiled) == (0, NAME, True)
    assert done.trace is not None
    assert done.trace.table("dispatches")["kernel"].to_list() == ["ping"]


def test_its_library_is_known_where_it_is_preloaded() -> None:
    assert preloaded_profilers({"LD_PRELOAD": "/x/libsonar.so.1"}) == ("LD_PRELOAD=libsonar.so.1",)
