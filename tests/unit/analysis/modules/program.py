"""Small training programs as torch.profiler would record them, with known times of every kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, trace

ENGINE = "autograd::engine::evaluate_function: "


class Program:
    """Writes down what happens in the order in which it happens; every operator launches one kernel."""

    def __init__(self) -> None:
        self._now = 0
        self._tid = 1
        self._gpu = 1_000_000
        self._tables: dict[str, list[Any]] = {"ops": [], "api_calls": [], "dispatches": [], "ranges": []}

    @contextmanager
    def thread(self, tid: int) -> Iterator[None]:
        """What is inside runs on another thread."""
        before, self._tid = self._tid, tid
        yield
        self._tid = before

    @contextmanager
    def span(self, name: str, category: str = "python", **more: object) -> Iterator[None]:
        """A Python frame or an operator around what is inside."""
        row: dict[str, Any] = {"name": name, "category": category, "start_ns": self._tick(), **more}
        self._tables["ops"].append(row)
        row |= {"pid": 1, "tid": self._tid}
        yield
        row["end_ns"] = self._tick()

    @contextmanager
    def range(self, name: str) -> Iterator[None]:
        """A record_function around what is inside."""
        row: dict[str, Any] = {"name": name, "source": "record_function", "start_ns": self._tick()}
        self._tables["ranges"].append(row)
        row |= {"pid": 1, "tid": self._tid}
        yield
        row["end_ns"] = self._tick()

    def module(self, name: str) -> Any:
        """A call of an nn.Module."""
        return self.span(f"nn.Module: {name}")

    def operator(self, name: str, gpu_ns: int, **more: object) -> None:
        """An operator that launches one kernel."""
        with self.span(name, "operator", **more):
            self.launch(f"kernel of {name}", gpu_ns)

    def launch(self, name: str, gpu_ns: int, **more: object) -> None:
        """A kernel, launched here."""
        number = len(self._tables["dispatches"]) + 1
        start = self._tick()
        launched: Row = call("hipLaunchKernel", start, self._tick(), number, pid=1, tid=self._tid)
        self._tables["api_calls"].append(launched)
        at, self._gpu = self._gpu, self._gpu + gpu_ns
        self._tables["dispatches"].append(
            kernel(name, at, self._gpu, pid=1, correlation_id=number, dispatch_id=number, **more)
        )

    @contextmanager
    def backward(self, name: str, sequence: int) -> Iterator[None]:
        """A step of the backward pass, as autograd's engine runs it."""
        more = {"sequence": sequence, "forward_thread": 1}
        with self.span(ENGINE + name, "operator", **more), self.span(name, "operator", **more):
            yield

    def recorded(self) -> Trace:
        """All of it."""
        return trace(**{name: rows for name, rows in self._tables.items() if rows})

    def _tick(self) -> int:
        self._now += 10
        return self._now
