"""A judged process that fails in any way is one clear line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rocm_perf.bench.judge.lap import JudgedError
from rocm_perf.bench.judge.runner import InputProcess, RemoteSide, RunnerProcess
from rocm_perf.bench.judge.workbench import Terms

CODE = """
import os, sys, time

calls = 0
number = 3

def twice(x): return [2 * v for v in x]
def nothing(x): pass
def dies(x): os.kill(os.getpid(), 11)
def dies_by_40(x): os.kill(os.getpid(), 40)
def leaves(x): os._exit(9)
def hangs(x): time.sleep(60)
def asks_to_leave(x): sys.exit(3)
def prints(x):
    print("chatter")
    return x
def raises_later(x):
    global calls
    calls += 1
    if calls == 57:
        raise ValueError("no more")
    return x
def own_object(x): return object()
def circle(x):
    ring = []
    ring.append(ring)
    return ring
def babbles(x):
    for fd in range(3, 30):
        try: os.write(fd, b"this is not a message" * 10)
        except OSError: pass
    return x

def bare_inputs(): return 3
def no_inputs(): return []
def fine_inputs(seed): yield ([float(seed)],)
def object_inputs(): return (object(),)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "judged.py"
    path.write_text(CODE)
    return path


@pytest.fixture
def process() -> Iterator[RunnerProcess]:
    with RunnerProcess("NEW", timeout_s=120) as process:
        yield process


def called(process: RunnerProcess, target: str, times: int = 1) -> object:
    side = RemoteSide(process, "new", target, Terms())
    side.put(0, ([1.0, 2.0],))
    for _ in range(times):
        side.run([0])
    return side.read(0).result


def test_a_function_is_called_in_its_process(process: RunnerProcess, script: Path) -> None:
    assert called(process, f"{script}:twice") == [2.0, 4.0]
    assert called(process, f"{script}:nothing") is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("dies", "its process was killed by SIGSEGV"),
        ("dies_by_40", r"its process was killed by SIGRTMIN\+6"),
        ("leaves", "its process exited with code 9"),
        ("asks_to_leave", "it raised SystemExit: 3"),
        ("own_object", "its result cannot be judged: a builtins.object is neither an array"),
        ("circle", "its result cannot be judged"),
        ("babbles", "its answer is not one"),
        ("number", "number is not a function, but of type int"),
        ("absent", "has no 'absent'"),
    ],
)
def test_what_goes_wrong_is_said(process: RunnerProcess, script: Path, name: str, reason: str) -> None:
    with pytest.raises(JudgedError, match=f"^NEW failed: .*{reason}"):
        called(process, f"{script}:{name}")


def test_the_call_that_raises_is_said(process: RunnerProcess, script: Path) -> None:
    with pytest.raises(JudgedError, match="it raised ValueError: no more"):
        called(process, f"{script}:raises_later", times=60)


def test_a_target_that_does_not_import_is_said(process: RunnerProcess, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import nowhere_to_be_found\n")
    with pytest.raises(JudgedError, match="ModuleNotFoundError: No module named 'nowhere_to_be_found'"):
        called(process, f"{tmp_path / 'broken.py'}:f")
    with pytest.raises(JudgedError, match="there is no file"):
        called(process, f"{tmp_path / 'absent.py'}:f")
    with pytest.raises(JudgedError, match="write module:function"):
        called(process, "function")


def test_code_that_hangs_is_given_up(script: Path) -> None:
    with (
        RunnerProcess("NEW", timeout_s=1.5) as process,
        pytest.raises(JudgedError, match=r"did not answer within 1\.5 s"),
    ):
        called(process, f"{script}:hangs")


def test_what_judged_code_prints_is_not_on_stdout(
    process: RunnerProcess, script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    called(process, f"{script}:prints")
    process.close()
    assert capfd.readouterr().out == ""


def test_inputs_are_made_in_a_process(process: RunnerProcess, script: Path) -> None:
    assert InputProcess(process, f"{script}:fine_inputs").make(7) == [([7.0],)]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bare_inputs", "it returned a value of type int where a tuple of arguments belongs"),
        ("no_inputs", "it made no inputs"),
        ("object_inputs", "a builtins.object is neither"),
    ],
)
def test_inputs_that_are_none_are_said(process: RunnerProcess, script: Path, name: str, reason: str) -> None:
    with pytest.raises(JudgedError, match=reason):
        InputProcess(process, f"{script}:{name}").make(7)
