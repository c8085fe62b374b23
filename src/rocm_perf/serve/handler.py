"""From HTTP to the site and back: the guard, the token, the headers that every answer carries."""

from __future__ import annotations

import shutil
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from rocm_perf.serve import pages
from rocm_perf.serve.answers import ALWAYS, Answer, Request, page
from rocm_perf.serve.connections import Connections
from rocm_perf.serve.guard import is_token, refusal
from rocm_perf.serve.site import Site, not_found

_LONGEST_SILENCE_S = 30  # of a browser that takes an answer
_MOST_FIELDS = 2_000


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    site: Site
    token: str
    perfetto_token: str
    connections: Connections

    protocol_version = "HTTP/1.1"
    timeout = _LONGEST_SILENCE_S

    def handle_one_request(self) -> None:
        """Wait for the next request of this connection, but not for ever, and answer it."""
        self.connections.await_request(self.connection)
        super().handle_one_request()

    def do_GET(self) -> None:
        self._send(self._answer())

    do_HEAD = do_POST = do_GET  # noqa: N815

    def version_string(self) -> str:
        """Who answers, without versions."""
        return "rocm-perf"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a log of addresses would hold the token."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what http.server itself refuses."""
        del message, explain
        unknown = code == HTTPStatus.NOT_IMPLEMENTED
        self.close_connection = True
        self._send(
            _refused(HTTPStatus.METHOD_NOT_ALLOWED if unknown else HTTPStatus(code), "Not understood.")
        )

    def _answer(self) -> Answer:
        target = urlsplit(self.path)
        token, _, place = target.path.removeprefix("/").partition("/")
        refused = refusal(self.command, self.path, self.headers)
        if refused:
            self.close_connection = True  # with whatever body it has
            return _refused(refused.status, refused.reason)
        if is_token(token, self.perfetto_token):
            return self.site.perfetto_file(unquote(place))
        if not is_token(token, self.token):
            return _refused(
                HTTPStatus.NOT_FOUND, "Open the address that rocm-perf serve printed: it has a token."
            )
        if not target.path.startswith(f"/{token}/"):
            return not_found(f"/{self.token}/")
        query = self._query(target.query)
        self.connections.answer(self.connection)
        request = Request(
            method=self.command,
            place=tuple(place.split("/")) if place else (),
            query=query,
            host=self.headers.get("Host", ""),
            root=f"/{self.token}/",
            known_tag=self.headers.get("If-None-Match", ""),
        )
        return self.site.answer(request)

    def _query(self, text: str) -> dict[str, list[str]]:
        if self.command == "POST":
            length = int(self.headers.get("Content-Length", "0"))
            text = self.rfile.read(length).decode("ascii", "replace")
        try:
            return parse_qs(text, max_num_fields=_MOST_FIELDS)
        except ValueError:
            return {}

    def _send(self, answer: Answer) -> None:
        try:
            if isinstance(answer.body, Path):
                self._send_file(answer, answer.body)
            else:
                self._send_head(answer, len(answer.body))
                if self.command != "HEAD":
                    self.wfile.write(answer.body)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True  # the browser has left

    def _send_file(self, answer: Answer, path: Path) -> None:
        try:
            file = path.open("rb")
        except OSError:
            self._send(_refused(HTTPStatus.NOT_FOUND, "It is no longer there. Reload the page."))
            return
        with file:
            self._send_head(answer, path.stat().st_size)
            if self.command != "HEAD":
                shutil.copyfileobj(file, self.wfile)

    def _send_head(self, answer: Answer, size: int) -> None:
        self.send_response(answer.status)
        headers = {
            **ALWAYS,
            "Content-Type": answer.type,
            "Content-Length": str(size),
            "Content-Security-Policy": answer.policy,
            **answer.headers,
        }
        if answer.status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = "GET, HEAD, POST"
        if self.close_connection:
            headers["Connection"] = "close"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


def _refused(status: HTTPStatus, reason: str) -> Answer:
    return page(pages.refused_page(reason), status)
