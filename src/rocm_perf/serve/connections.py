"""The open connections: how many there may be, and how long a request may take to arrive.

A client without the token can open connections and say little or nothing. It must neither keep others out nor stop the
server from ending, so whoever has kept us waiting longest makes room for a new connection.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

MOST = 64
LONGEST_WAIT_S = 30.0  # for a whole request: its first line, headers and body


class Connections:
    """A bounded number of connections, those without a complete request in the order in which they began to wait."""

    def __init__(self, most: int = MOST, longest_wait_s: float = LONGEST_WAIT_S) -> None:
        self._most = most
        self._longest_wait_s = longest_wait_s
        self._lock = threading.Lock()
        self._waiting: dict[socket.socket, float] = {}  # until when; the first of them has waited longest
        self._answering: set[socket.socket] = set()

    def admit(self, connection: socket.socket) -> bool:
        """Take in a new connection, in place of the one that has waited longest if there are too many.

        Returns False if all of them are being answered.
        """
        with self._lock:
            if len(self._waiting) + len(self._answering) >= self._most:
                if not self._waiting:
                    return False
                self._cut(next(iter(self._waiting)))
            self._waiting[connection] = time.monotonic() + self._longest_wait_s
        return True

    def await_request(self, connection: socket.socket) -> None:
        """Start the time in which the next request of a connection has to arrive."""
        with self._lock:
            if self._waiting.pop(connection, None) is not None or connection in self._answering:
                self._answering.discard(connection)
                self._waiting[connection] = time.monotonic() + self._longest_wait_s

    def answer(self, connection: socket.socket) -> None:
        """Note that a whole request has arrived: its answer may take as long as it takes."""
        with self._lock:
            if self._waiting.pop(connection, None) is not None:
                self._answering.add(connection)

    def forget(self, connection: socket.socket) -> None:
        """Make room: a connection has ended."""
        with self._lock:
            self._waiting.pop(connection, None)
            self._answering.discard(connection)

    def end_overdue(self) -> None:
        """Cut the connections whose request has not arrived in time."""
        now = time.monotonic()
        with self._lock:
            for connection in [each for each, until in self._waiting.items() if until < now]:
                self._cut(connection)

    def _cut(self, connection: socket.socket) -> None:
        """End a waiting connection: whoever reads from it sees its end."""
        del self._waiting[connection]
        with suppress(OSError):  # it has ended already
            connection.shutdown(socket.SHUT_RDWR)
