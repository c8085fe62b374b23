"""The application runs under us as it would without us. Each test starts a small driver, whose input and output are the
test's own."""

from __future__ import annotations

import fcntl
import os
import random
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rocm_perf.collect.run import launch as launching
from rocm_perf.collect.run.launch import Ended, exit_code, launch
from rocm_perf.collect.run.streams import HEAD_BYTES, TAIL_BYTES, Excerpt
from rocm_perf.errors import ToolAbsentError, UsageError

DRIVER = """
import json, os, sys
from rocm_perf.collect.run.launch import exit_code, launch
from rocm_perf.collect.run.inputs import Input
facts = json.loads(sys.argv[1])
stdin = Input(several=facts.pop("several", False))
runs = [launch(sys.argv[2:], os.environ, stdin=stdin.next_run(), **facts) for _ in range(facts.pop("runs", 1))]
with open(os.environ["RESULT"], "w") as file:
    json.dump([[run.status, run.interrupted, run.timed_out, run.stderr_tail, run.left_behind] for run in runs], file)
sys.exit(exit_code(runs[-1].status))
"""
# A session with a terminal and a shell that waits for one job.
SHELL = """
import fcntl, os, signal, subprocess, sys, termios, time
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
def in_front():  # both sides do it, as in a shell: whoever is late finds it done
    os.setpgrp()
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
job = subprocess.Popen(sys.argv[1:], preexec_fn=in_front)
os.tcsetpgrp(0, job.pid)
while True:
    _, status = os.waitpid(job.pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
    os.tcsetpgrp(0, os.getpgrp())
    print("shell: stopped", flush=True)
    time.sleep(0.2)
    os.tcsetpgrp(0, job.pid)
    os.killpg(job.pid, signal.SIGCONT)
front = os.tcgetpgrp(0) == job.pid
os.tcsetpgrp(0, os.getpgrp())
print("shell: exit", os.waitstatus_to_exitcode(status), "front", front, flush=True)
"""


class Driven:
    """A driver and what it said of its run."""

    def __init__(self, tmp_path: Path) -> None:
        self.result = tmp_path / "result.json"
        self.environment = {**os.environ, "RESULT": str(self.result)}

    def argv(self, *command: str, **facts: object) -> list[str]:
        import json

        return [sys.executable, "-c", DRIVER, json.dumps(facts), *command]

    def run(
        self, *command: str, facts: dict[str, object] | None = None, **streams: object
    ) -> subprocess.CompletedProcess[bytes]:
        options: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            self.argv(*command, **(facts or {})), env=self.environment, timeout=120, check=False, **options
        )

    @property
    def ended(self) -> list[list[object]]:
        import json

        return json.loads(self.result.read_text())  # type: ignore[no-any-return]


@pytest.fixture
def driven(tmp_path: Path) -> Driven:
    return Driven(tmp_path)


def _sh(script: str, **facts: object) -> Ended:
    return launch(["sh", "-c", script], os.environ, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        ("exit 0", 0, 0),
        ("exit 7", 7, 7),
        ("exit 137", 137, 137),
        ("kill -9 $$", -9, 137),
        ("kill -15 $$", -15, 143),
    ],
)
def test_the_end_of_the_application_is_ours(script: str, status: int, code: int) -> None:
    ended = _sh(script)
    assert (ended.status, exit_code(ended.status)) == (status, code)
    assert not ended.interrupted


def test_times_are_of_the_boot_clock_and_of_the_application_alone() -> None:
    before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    child = "while kill -0 $$ 2> /dev/null; do sleep 0.05; done; sleep 2"  # beyond the application's own end
    ended = _sh(f"sleep 0.2; ({child}) &", grace_s=60.0)
    after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    assert before <= ended.started_ns < after - 2e9
    assert 0.2e9 <= ended.wall_ns < after - ended.started_ns - 1e9


def test_arguments_and_environment_arrive_unchanged(driven: Driven) -> None:
    words = ["--", "--weird", "a b", "", "*", "$HOME", "ü\n"]
    script = "import os, sys; print(ascii([sys.argv[1:], os.environ['X']]))"
    driven.environment["X"] = " y "
    done = driven.run(sys.executable, "-c", script, *words)
    assert done.stdout.decode().strip() == ascii([words, " y "])


def test_binary_streams_pass_unchanged(driven: Driven) -> None:
    data = random.Random(1).randbytes(1 << 20)
    done = driven.run("tee", "/dev/stderr", input=data)
    assert (done.stdout == data, done.stderr == data) == (True, True)


def test_error_output_in_a_file_is_the_applications_own(driven: Driven, tmp_path: Path) -> None:
    file = tmp_path / "errors"
    file.write_text("before\n")
    with file.open("ab") as stream:
        driven.run("sh", "-c", "test -f /dev/stderr && echo a regular file >&2", stderr=stream)
    assert file.read_text() == "before\na regular file\n"
    assert driven.ended[0][3] == "a regular file\n"


def test_two_outputs_in_one_pipe_keep_their_order(driven: Driven) -> None:
    script = "import os\nfor n in range(2000): os.write(1 + n % 2, b'%d\\n' % n)"
    done = driven.run(sys.executable, "-c", script, stderr=subprocess.STDOUT)
    assert done.stdout.split() == [b"%d" % number for number in range(2000)]


def test_output_can_be_sent_to_the_error_output(driven: Driven) -> None:
    done = driven.run("sh", "-c", "echo one; echo two >&2", facts={"stdout": 2})
    assert (done.stdout, done.stderr) == (b"", b"one\ntwo\n")


def test_a_reader_that_leaves_is_noticed_by_the_application(driven: Driven) -> None:
    process = subprocess.Popen(
        driven.argv("yes"), env=driven.environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(120) == 128 + signal.SIGPIPE


def test_without_watching_nothing_is_kept(driven: Driven) -> None:
    done = driven.run("sh", "-c", "echo x >&2", facts={"watch_stderr": False})
    assert (done.stderr, driven.ended[0][3]) == (b"x\n", "")


def test_files_that_the_shell_opened_are_inherited(tmp_path: Path, driven: Driven) -> None:
    with (tmp_path / "three").open("wb") as file:
        done = driven.run("sh", "-c", f"echo x > /dev/fd/{file.fileno()}", pass_fds=(file.fileno(),))
    assert done.returncode == 0
    assert (tmp_path / "three").read_text() == "x\n"


def test_the_next_run_reads_the_same_input(driven: Driven, tmp_path: Path) -> None:
    data = random.Random(2).randbytes(1 << 20)
    piped = driven.run("cat", input=data, facts={"runs": 3, "several": True})
    assert piped.stdout == 3 * data
    file = tmp_path / "input"
    file.write_bytes(b"skipped\n" + data)
    with file.open("rb", buffering=0) as stream:
        stream.readline()
        again = driven.run("cat", stdin=stream, facts={"runs": 2, "several": True})
    assert again.stdout == 2 * data


def test_a_pipe_that_nobody_writes_to_holds_nothing_up(driven: Driven) -> None:
    ours, theirs = os.pipe()
    try:
        done = driven.run("echo", "done", stdin=ours, facts={"runs": 2, "several": True})
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.stdout == b"done\ndone\n"


def test_an_application_that_stops_reading_is_not_waited_for(driven: Driven) -> None:
    done = driven.run("head", "-c", "5", input=b"0123456789" * 100_000, facts={"runs": 2, "several": True})
    assert done.stdout == b"0123401234"


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_application(driven: Driven, number: signal.Signals) -> None:
    script = f"trap 'echo caught; exit 9' {number.name[3:]}; echo ready; while :; do sleep 0.05; done"
    process = subprocess.Popen(
        driven.argv("sh", "-c", script), env=driven.environment, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    assert process.communicate(timeout=120)[0] == b"caught\n"
    assert process.returncode == 9
    assert driven.ended[0][1] is (number != signal.SIGUSR1)


def test_an_ignored_hangup_stays_ignored(driven: Driven) -> None:
    script = "echo ready; sleep 0.5; echo alive"
    process = subprocess.Popen(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *driven.argv("sh", "-c", script)],
        env=driven.environment,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGHUP)
    assert process.communicate(timeout=120)[0] == b"alive\n"
    assert process.returncode == 0


def test_a_second_interrupt_ends_what_ignores_the_first(driven: Driven) -> None:
    script = "trap '' INT; echo ready; while :; do sleep 0.05; done"
    process = subprocess.Popen(
        driven.argv("sh", "-c", script, grace_s=30), env=driven.environment, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 143
    process.stdout.close()
    assert driven.ended[0][:3] == [-15, True, False]


def _time_is_up_at(ready: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the time of an application be up when it has made this file, however long that takes."""

    class Patience(launching._Patience):
        def wait_s(self) -> float | None:
            if not self.is_out:
                self._deadline = time.monotonic() + (0 if ready.exists() else 0.02)
            return super().wait_s()

        def due(self) -> signal.Signals | None:
            return super().due() if self.is_out or ready.exists() else None

    monkeypatch.setattr(launching, "_Patience", Patience)


def test_a_timeout_asks_first_and_kills_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = tmp_path / "ready"
    _time_is_up_at(ready, monkeypatch)
    polite = _sh(
        f"sleep 600 & child=$!; trap 'kill $child; echo flushed > {tmp_path}/out; exit 3' INT; touch {ready}; wait",
        timeout_s=0.3,
        grace_s=60.0,
    )
    assert (polite.status, polite.timed_out, polite.interrupted) == (3, True, False)
    assert (tmp_path / "out").read_text() == "flushed\n"
    ready.unlink()
    script = f"trap '' INT TERM; touch {ready}; while :; do sleep 0.05; done"
    stubborn = _sh(script, timeout_s=0.3, grace_s=0.2)
    assert (stubborn.status, stubborn.timed_out) == (-9, True)


def test_a_timeout_ends_the_whole_group(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    ended = _sh(
        f"(trap '' INT TERM; echo $$ > {file}; while :; do sleep 0.05; done) & sleep 30",
        timeout_s=0.5,
        grace_s=1.0,  # a busy machine takes its time between the signals
    )
    assert ended.timed_out
    assert ended.left_behind == ()


def test_a_child_is_waited_for_and_a_service_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert _sh(f"(sleep 0.5; echo late > {out}) & exit 0").left_behind == ()
    assert out.read_text() == "late\n"
    ended = _sh("sleep 30 & exit 4", grace_s=0.3)
    assert ended.status == 4
    assert len(ended.left_behind) == 1
    os.kill(ended.left_behind[0], signal.SIGKILL)


def test_what_is_left_behind_keeps_its_error_output(driven: Driven) -> None:
    child = 'while ! test -e "$RESULT"; do sleep 0.05; done; echo late >&2'  # the run is over then
    done = driven.run("sh", "-c", f"({child}) & exit 0", facts={"grace_s": 0.1})
    assert done.stderr == b"late\n"
    assert driven.ended[0][4]


def test_what_cannot_be_started_is_said_and_nothing_is_left_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ToolAbsentError, match="cannot start no-such-program"):
        launch(["no-such-program"], os.environ)
    (tmp_path / "app").write_text("no program")
    (tmp_path / "app").chmod(0o755)
    with pytest.raises(UsageError, match="Exec format error"):
        launch([str(tmp_path / "app")], os.environ)
    assert len(os.listdir("/proc/self/fd")) == before


def test_outside_the_main_thread_it_still_runs() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(_sh, "exit 5").result().status == 5


def test_an_excerpt_keeps_both_ends() -> None:
    excerpt = Excerpt()
    for number in range(40_000):
        excerpt.add(b"%d\n" % number)
    text = excerpt.text()
    assert text.startswith("0\n1\n2\n")
    assert text.endswith("39999\n")
    assert len(text) == HEAD_BYTES + TAIL_BYTES + 5


INTERRUPTIBLE = """
import os, signal, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
while os.tcgetpgrp(0) != os.getpgrp():
    time.sleep(0.01)
print("ready", flush=True)
signal.pause()
"""  # no shell: one that is between two commands keeps an interrupt until the second has ended


class Screen:
    """A terminal that a test looks at and types on, with a job of a shell in front."""

    def __init__(self, argv: list[str], environment: dict[str, str]) -> None:
        self.keyboard, side = os.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", SHELL, *argv],
            stdin=side, stdout=side, stderr=side, start_new_session=True, env=environment,
        )  # fmt: skip
        os.close(side)
        self.text = ""

    def type(self, keys: bytes) -> None:
        os.write(self.keyboard, keys)

    def until(self, words: str | Callable[[str], bool]) -> str:
        """What was on the screen when the words appeared."""
        end = time.monotonic() + 120
        shown = (lambda text: words in text) if isinstance(words, str) else words
        while not shown(self.text):
            assert time.monotonic() < end, self.text
            if select.select([self.keyboard], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.keyboard, 4096).decode()
                except OSError as error:
                    raise AssertionError(self.text) from error
        return self.text

    def close(self) -> None:
        os.close(self.keyboard)
        self.process.wait(120)


@pytest.fixture
def screen(driven: Driven) -> object:
    opened: list[Screen] = []

    def open_(*command: str, **facts: object) -> Screen:
        opened.append(Screen(driven.argv(*command, **facts), driven.environment))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()


Open = Callable[..., Screen]


def test_on_a_terminal_all_three_are_terminals(screen: Open, driven: Driven) -> None:
    script = (
        "import os, sys, time\n"
        "for _ in range(6_000):\n"  # it is put in front once it runs, which on a busy machine takes a moment
        "    if front := os.tcgetpgrp(0) == os.getpgrp(): break\n"
        "    time.sleep(0.01)\n"
        "print([os.isatty(n) for n in range(3)], *os.get_terminal_size(2), front); sys.stderr.write('to error\\n')"
    )
    shown = screen(sys.executable, "-c", script).until("shell: exit 0 front True")
    assert "[True, True, True] 77 33 True\r\n" in shown
    assert "to error\r\n" in shown
    assert driven.ended[0][1] is False
    assert driven.ended[0][3:] == ["to error\n", []]


def test_the_terminal_can_be_read(screen: Open) -> None:
    job = screen("sh", "-c", "read line; echo got $line")
    job.type(b"some words\n")
    assert "got some words" in job.until("shell: exit")


def test_ctrl_c_reaches_the_application_alone(screen: Open, driven: Driven) -> None:
    job = screen(
        "sh", "-c", "trap 'echo caught; exit 6' INT; sleep 0.5; echo ready; while :; do sleep 0.05; done"
    )
    job.until("ready")
    job.type(b"\x03")
    assert "caught\r\n" in job.until("shell: exit 6 front True")
    assert driven.ended[0][:2] == [6, True]


def test_ctrl_c_that_kills_is_an_interruption(screen: Open, driven: Driven) -> None:
    job = screen(sys.executable, "-c", INTERRUPTIBLE)
    job.until("ready")
    job.type(b"\x03")
    job.until("shell: exit 130")
    assert driven.ended[0][:2] == [-2, True]


def test_ctrl_z_puts_both_aside(screen: Open) -> None:
    script = (
        "import os, time\nwhile os.tcgetpgrp(0) != os.getpgrp(): time.sleep(0.01)\n"
        "print('ready', flush=True)\nprint('got', input())"
    )
    job = screen(sys.executable, "-c", script)
    job.until("ready")
    job.type(b"\x1a")
    job.until("shell: stopped")
    job.type(b"again\n")
    assert "got again" in job.until("shell: exit 0")


def test_another_size_is_passed_on(screen: Open) -> None:
    script = (
        "import os, signal, time\nsignal.signal(signal.SIGWINCH, lambda *_: None)\nprint('ready', flush=True)\n"
        "while os.get_terminal_size(2).columns != 99: time.sleep(0.05)"
    )
    job = screen(sys.executable, "-c", script)
    job.until("ready")
    fcntl.ioctl(job.keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 99, 0, 0))
    job.until("shell: exit 0")


def test_a_pager_beside_us_keeps_the_terminal(driven: Driven, tmp_path: Path) -> None:
    """`rocm-perf ... | pager`: both are in one group, and the pager reads the keyboard while the application runs."""
    mark = tmp_path / "mark"
    app = f"sleep 0.5; touch {mark}; sleep 1; echo from the application"
    pager = f"while ! test -e {mark}; do sleep 0.05; done; read key < /dev/tty; cat; echo pager read $key"
    inner = driven.argv("sh", "-c", app)
    job = Screen(["bash", "-c", f'"$@" | {{ {pager}; }}', "bash", *inner], driven.environment)
    try:
        job.type(b"k\n")
        shown = job.until("shell: exit")
    finally:
        job.close()
    assert "from the application\r\npager read k" in shown
    assert "stopped" not in shown


def test_who_asks_for_the_terminal_gets_it(driven: Driven) -> None:
    """With a sibling in the group the terminal is not lent at once, but when the application reads it."""
    inner = driven.argv("sh", "-c", "read line; echo got $line")
    job = Screen(["bash", "-c", '"$@" | cat', "bash", *inner], driven.environment)
    try:
        job.type(b"words\n")
        assert "got words" in job.until("shell: exit 0")
    finally:
        job.close()
