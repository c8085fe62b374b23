"""The server: a port on loopback, a thread for each connection, one that watches the folders, and the end of it all."""

from __future__ import annotations

import errno
import secrets
import socket
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path

from rocm_perf.errors import InputError, NotSupportedError
from rocm_perf.model.machine_ceilings import MachineCeilings
from rocm_perf.serve import LONGEST_JOB_S
from rocm_perf.serve.connections import Connections
from rocm_perf.serve.folders import Folders
from rocm_perf.serve.handler import Handler
from rocm_perf.serve.perfetto import installed_ui
from rocm_perf.serve.site import Site
from rocm_perf.serve.workshop import Workshop

ADDRESS = "127.0.0.1"
LOOK_EVERY_S = 1.0
_TOKEN_BYTES = 24


@dataclass(frozen=True)
class Serving:
    """A server that is running."""

    url: str
    folders: Folders
    workshop: Workshop
    folder: Path  # private to this user, gone when the server ends


class _LoopbackServer(ThreadingHTTPServer):
    """Accepts connections and never waits for one of them: each has a thread and a deadline."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, handler: type[Handler], connections: Connections) -> None:
        self._connections = connections
        super().__init__((ADDRESS, port), handler)

    def process_request(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        assert isinstance(request, socket.socket)  # a tuple is a datagram
        if self._connections.admit(request):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        assert isinstance(request, socket.socket)
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.forget(request)

    def service_actions(self) -> None:
        """Cut connections that are overdue, between two looks for new ones."""
        self._connections.end_overdue()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a browser that leaves early is no error of ours, and a trace could hold the token."""


@contextmanager
def serving(
    paths: Sequence[Path],
    *,
    port: int = 0,
    watch: bool = False,
    machines: tuple[MachineCeilings, ...] = (),
    job_limit_s: float = LONGEST_JOB_S,
) -> Iterator[Serving]:
    """Serve the runs at the paths until the block ends."""
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} does not exist", next_step="Check the path.")
    folders = Folders(paths)
    folders.look()
    token, perfetto_token = secrets.token_urlsafe(_TOKEN_BYTES), secrets.token_urlsafe(_TOKEN_BYTES)
    with tempfile.TemporaryDirectory(prefix="rocm-perf-serve-", ignore_cleanup_errors=True) as folder:
        workshop = Workshop(
            folder=Path(folder),
            tops=[path.resolve() for path in paths],
            machines=machines,
            on_parts=folders.divide,
            limit_s=job_limit_s,
        )
        site = Site(folders, workshop, watch, installed_ui(), f"/{perfetto_token}/")
        connections = Connections()
        served = {"site": site, "token": token, "perfetto_token": perfetto_token, "connections": connections}
        server = _bound(port, type("SiteHandler", (Handler,), served), connections)
        try:
            with _threads(server, folders, watch=watch):
                url = f"http://{ADDRESS}:{server.server_address[1]}/{token}/"
                yield Serving(url, folders, workshop, Path(folder))
        finally:
            workshop.close()
            server.server_close()


def _bound(port: int, handler: type[Handler], connections: Connections) -> _LoopbackServer:
    try:
        return _LoopbackServer(port, handler, connections)
    except PermissionError as error:
        raise NotSupportedError(
            f"port {port} cannot be opened",
            "ports below 1024 are the system's",
            "Choose another with --port.",
        ) from error
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise NotSupportedError(
            f"port {port} is in use",
            next_step="Choose another with --port, or leave it out to get a free one.",
        ) from error


@contextmanager
def _threads(server: _LoopbackServer, folders: Folders, *, watch: bool) -> Iterator[None]:
    ended = threading.Event()
    threads = [threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)]
    if watch:
        threads.append(threading.Thread(target=_watch, args=(folders, ended), daemon=True))
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        server.shutdown()
        for thread in threads:
            thread.join()


def _watch(folders: Folders, ended: threading.Event) -> None:
    while not ended.wait(LOOK_EVERY_S):
        folders.look()
