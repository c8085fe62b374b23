"""A command proposes: whatever it does, there is an answer in time, and at worst one line about it."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from rocm_perf.errors import UsageError
from rocm_perf.model.results.optimize import Attempt
from rocm_perf.optimize.proposers.command import command_proposer
from rocm_perf.optimize.proposers.limited import Limits
from rocm_perf.optimize.proposers.question import Proposals
from tests.unit.optimize.proposers.kernels import KERNEL, changed, question

QUICK = Limits(seconds=20, answer_bytes=10_000)


def command(folder: Path, program: str) -> str:
    file = folder / "proposer.py"
    file.write_text(program)
    return f"{shlex.quote(sys.executable)} -S {shlex.quote(str(file))}"


def proposed(folder: Path, program: str, limits: Limits = QUICK) -> Proposals:
    return command_proposer(command(folder, program), limits)(question())


def test_a_command_reads_the_question_and_answers_with_patches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLDPWD", str(tmp_path))
    program = f"""
import json, os, sys
request = json.load(sys.stdin)
where = [value for value in os.environ.values() if value == {str(tmp_path)!r}]
seen = {{"cwd": os.listdir("."), "where": where, "request": request}}
kernel = request["kernel"]["text"].replace("x[i] *= 2", "x[i] += x[i]") + "//" + json.dumps(seen)
print(json.dumps({{"schema_version": 1, "patches": [{{"name": "twice\\x1b[31m", "kernel": kernel}}]}}))
"""
    earlier = Attempt(
        number=1, round=0, key="", name="a", by="b", verdict="rejected", reason="captured: wrong"
    )
    propose = command_proposer(command(tmp_path, program), QUICK)
    (candidate,) = propose(question(attempts=(earlier,))).candidates
    seen = json.loads(changed(candidate).partition("//")[2].partition("\n")[0])
    assert seen["cwd"] == []
    assert seen["where"] == []
    request = seen["request"]
    assert (request["schema_version"], request["file"], request["cause"]) == (1, "twice.cu", "memory")
    assert request["kernel"] == {"name": "twice", "line": 3, "text": KERNEL}
    assert request["attempts"][0]["reason"] == "captured: wrong"
    assert request["allowed"]["fast_math"] is False
    assert (candidate.name, candidate.by) == ("twice [31m", "proposer python")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys; sys.exit('no model is set')", "it failed, exit code 1: no model is set"),
        ("import os; os.kill(os.getpid(), 9)", "it failed, killed by signal 9"),
        ("", 'its answer cannot be used: it is empty: an answer without an idea is {"patches": []}'),
        ("print('Sure! Here is a faster kernel:')", "its answer cannot be used: JSON is malformed"),
        ("print('{\"patches\": [{\"diff\": 1}]}')", "its answer cannot be used: Expected `str | null`, got `int`"),
        ("print('{\"schema_version\": 2, \"patches\": []}')", "its answer cannot be used: its schema_version is 2"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')", "its answer cannot be used: "),
        ("print('x' * 100_000)", "it answered with more than 9.77 KiB"),
        ("import sys; sys.stderr.write('e' * 1_000_000); sys.exit(3)", "it failed, exit code 3: eee"),
    ],
)  # fmt: skip
def test_a_bad_answer_is_one_line(tmp_path: Path, program: str, reason: str) -> None:
    (refused,) = proposed(tmp_path, program).refused
    assert refused.name == "no proposal"
    assert refused.reason.startswith(reason)
    assert "\n" not in refused.reason


def is_running(pid: str) -> bool:
    """Whether a process is there, and more than an entry that nobody has asked for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    program = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
open({str(pid_file)!r}, "w").write(str(child.pid))
time.sleep(600)
"""
    (refused,) = proposed(tmp_path, program, Limits(seconds=6)).refused
    assert refused.reason == "it did not answer within 6 s"
    deadline = time.monotonic() + 120  # a killed process takes a moment to go
    while is_running(pid_file.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_no_ideas_is_an_answer(tmp_path: Path) -> None:
    assert proposed(tmp_path, "print('{\"patches\": []}')") == Proposals()


def test_commands_that_are_none(tmp_path: Path) -> None:
    (refused,) = command_proposer("no-such-program --fast")(question()).refused
    assert refused.reason == "no-such-program cannot be started: No such file or directory"
    with pytest.raises(UsageError, match="is not a command"):
        command_proposer("python 'unfinished")
    with pytest.raises(UsageError, match="is empty"):
        command_proposer("  ")


def test_a_script_is_found_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("relative.py").write_text("print('{\"patches\": [{}]}')")
    (refused,) = command_proposer(f"{os.path.basename(sys.executable)} -S relative.py")(question()).refused
    assert (refused.by, refused.reason[:7]) == ("proposer relative.py", "it must")
