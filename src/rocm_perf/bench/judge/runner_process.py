"""The process that imports the judged code and does what the judge asks for: `python -m ... FD`, where FD is its end of
the connection. The judged code may change anything in here: the judge believes nothing but bytes and its own clock."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rocm_perf.bench.inside.target import TargetError, named_function
from rocm_perf.bench.judge.arrays import plain
from rocm_perf.bench.judge.made_inputs import made_inputs, seed_generators
from rocm_perf.bench.judge.values import UnsupportedValueError, Value
from rocm_perf.bench.judge.wire import receive, send
from rocm_perf.bench.judge.workbench import CallError, Terms, Workbench

Answer = tuple[dict[str, Any], list[Value]]


class Runner:
    """The functions of this process, and what the judge may ask of them."""

    def __init__(self) -> None:
        self._benches: dict[str, Workbench] = {}
        self._maker: Callable[..., object] | None = None
        self._requests: dict[str, Callable[..., Answer]] = {
            "load": self.load,
            "load inputs": self.load_inputs,
            "make inputs": self.make_inputs,
            "put": self.put,
            "run": self.run,
            "checksums": self.checksums,
            "read": self.read,
        }

    def answer(self, header: dict[str, Any], values: list[Value]) -> Answer:
        """The answer to one request; what the judged code did wrong is one too."""
        try:
            return self._requests[header.pop("request")](*values, **header)
        except (TargetError, CallError, UnsupportedValueError) as error:
            return {"error": str(error)}, []
        except (Exception, SystemExit) as error:  # noqa: BLE001  (of whatever kind)
            return {"error": f"{type(error).__name__}: {error}"}, []

    def load(self, *, name: str, target: str, terms: dict[str, Any]) -> Answer:
        in_place = tuple(terms.pop("in_place"))
        self._benches[name] = Workbench(named_function(target), Terms(in_place=in_place, **terms))
        return {}, []

    def load_inputs(self, *, target: str) -> Answer:
        self._maker = named_function(target)
        return {}, []

    def make_inputs(self, *, seed: int) -> Answer:
        if self._maker is None:
            raise TargetError("no function makes inputs yet")
        seed_generators(seed)
        return {}, [plain(case) for case in made_inputs(self._maker, seed)]

    def put(self, arguments: Value, *, name: str, slot: int) -> Answer:
        self._benches[name].put(slot, arguments)
        return {}, []

    def run(self, *, name: str, slots: list[int], nonce: int) -> Answer:
        own_ns, checksums = self._benches[name].run(slots, nonce)
        return {"own_ns": own_ns, "checksums": checksums}, []

    def checksums(self, *, name: str, slots: list[int], nonce: int) -> Answer:
        return {"checksums": self._benches[name].checksums(slots, nonce)}, []

    def read(self, *, name: str, slot: int) -> Answer:
        return {}, list(self._benches[name].read(slot))


def main(descriptor: int) -> None:
    """Answer requests until the judge closes the connection. What the judged code prints goes to stderr."""
    os.dup2(2, 1)
    runner = Runner()
    with socket.socket(fileno=descriptor) as connection:
        while True:
            try:
                header, values = receive(connection)
            except (EOFError, ConnectionError):
                return
            answer, results = runner.answer(header, values)
            with suppress(ConnectionError):  # a judge that is gone is noticed above
                send(connection, answer, *results)


if __name__ == "__main__":
    main(int(sys.argv[1]))
