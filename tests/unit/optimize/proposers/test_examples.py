"""The proposers in examples/ work as they stand: the one for language models with a server in this process."""

from __future__ import annotations

import json
import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.optimize.proposers.command import command_proposer
from rocm_perf.optimize.proposers.question import Proposals
from tests.unit.optimize.proposers.kernels import KERNEL, SOURCE, changed, question

FOLDER = Path(__file__).parents[4] / "examples" / "proposers"


def proposed(name: str) -> Proposals:
    return command_proposer(f"{shlex.quote(sys.executable)} -S {shlex.quote(str(FOLDER / name))}")(question())


@contextmanager
def server(status: int, answer: object) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server that always gives this answer, and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append({"path": self.path, "key": self.headers["Authorization"], "body": json.loads(body)})
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_address[1]}/v1/", asked
        finally:
            http.shutdown()
            thread.join()


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("OPENAI_MODEL", "a-model")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return monkeypatch


def test_unrolling_every_loop() -> None:
    (candidate,) = proposed("unroll_all.py").candidates
    assert candidate.name == "unroll by 4: line 4"
    assert changed(candidate) == SOURCE.replace("  for (", "#pragma unroll 4\n  for (")


def test_a_language_model_is_asked(model: pytest.MonkeyPatch) -> None:
    faster = KERNEL.replace("x[i] *= 2", "x[i] += x[i]")
    content = (
        f"Two ideas.\n```cpp add instead\n{faster}\n```\nand how to build it:\n```\nnvcc twice.cu\n```\n"
    )
    with server(200, {"choices": [{"message": {"content": content}}]}) as (address, asked):
        model.setenv("OPENAI_BASE_URL", address)
        (candidate,) = proposed("openai_compatible.py").candidates
    assert candidate.name == "add instead"
    assert changed(candidate) == SOURCE.replace(KERNEL, faster)
    (request,) = asked
    assert (request["path"], request["key"]) == ("/v1/chat/completions", "Bearer secret")
    assert request["body"]["model"] == "a-model"
    told = request["body"]["messages"][1]["content"]
    assert "sm_90" in told
    assert "it reaches 80 % of the bandwidth" in told
    assert KERNEL in told


@pytest.mark.parametrize(
    ("status", "answer", "reason"),
    [
        (401, {"error": "bad key"}, 'it failed, exit code 1: the server refused: 401 {"error": "bad key"}'),
        (200, {"choices": []}, "it failed, exit code 1: the server's answer is not as OpenAI documents it"),
    ],
)
def test_a_server_that_refuses(model: pytest.MonkeyPatch, status: int, answer: object, reason: str) -> None:
    with server(status, answer) as (address, _):
        model.setenv("OPENAI_BASE_URL", address)
        (refused,) = proposed("openai_compatible.py").refused
    assert refused.reason.startswith(reason)


def test_without_a_server(model: pytest.MonkeyPatch) -> None:
    model.delenv("OPENAI_BASE_URL", raising=False)
    (refused,) = proposed("openai_compatible.py").refused
    assert "set OPENAI_BASE_URL" in refused.reason
