"""Runs a function in this process, behind the interface of one in a separate process but without its protection."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from rocm_perf.bench.judge.lap import JudgedError, Lap, Outcome, boot_ns
from rocm_perf.bench.judge.values import Value
from rocm_perf.bench.judge.workbench import CallError, Terms, Workbench


class LocalSide:
    """One of the two functions that are compared, called here."""

    def __init__(self, label: str, function: Callable[..., object], terms: Terms) -> None:
        self._label = label
        self._bench = Workbench(function, terms)

    def put(self, slot: int, arguments: Value) -> None:
        """Lay arguments ready in a slot."""
        self._bench.put(slot, arguments)

    def run(self, slots: Sequence[int]) -> Lap:
        """Call the function once per slot."""
        nonce = secrets.randbits(32)
        started_ns = boot_ns()
        try:
            own_ns, checksums = self._bench.run(slots, nonce)
        except CallError as error:
            raise JudgedError(self._label, str(error)) from error
        return Lap(
            started_ns=started_ns,
            ended_ns=boot_ns(),
            calls=len(slots),
            own_ns=own_ns,
            nonce=nonce,
            checksums=tuple(checksums),
        )

    def handover(self, slots: Sequence[int]) -> Lap:
        """Nothing is handed over within a process."""
        now = boot_ns()
        return Lap(started_ns=now, ended_ns=now, calls=len(slots), own_ns=0, nonce=0, checksums=())

    def read(self, slot: int) -> Outcome:
        """The result in a slot, and the arguments as the call left them."""
        try:
            return Outcome(*self._bench.read(slot))
        except CallError as error:
            raise JudgedError(self._label, str(error)) from error

    def cpu_ns(self) -> int:
        """Nothing: what the two functions use cannot be told apart within a process."""
        return 0
