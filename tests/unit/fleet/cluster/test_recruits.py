"""Which workers can analyse ranks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rocm_perf.errors import NotSupportedError
from rocm_perf.fleet.cluster.recruits import Recruits
from rocm_perf.version import __version__

PYTHON = "{}.{}".format(*sys.version_info[:2])
FINE = (("node1", PYTHON, True), __version__)


class Client:
    """Answers as Dask's does, with what each worker says of itself and of its rocm-perf, or raises."""

    def __init__(self, answers: dict[str, tuple[Any, Any]]) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.scheduler = SimpleNamespace(address="tcp://s")

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        return {"workers": {address: {"status": "running"} for address in self.answers}}

    def run_on_scheduler(self, _function: Callable[..., Any], _text: str) -> str:
        return __version__

    def run(
        self, _function: Callable[..., Any], text: str, *_: Any, workers: list[str], on_error: str
    ) -> dict[str, Any]:
        assert on_error == "return"
        self.asked += workers
        return {address: self.answers[address]["rocm_perf" in text] for address in workers}


def _recruits(answers: dict[str, tuple[Any, Any]]) -> tuple[Recruits, Client, list[str]]:
    client = Client(answers)
    said: list[str] = []
    return Recruits(client, Path("/job"), said.append), client, said


def test_each_worker_is_asked_once_as_long_as_it_is_there() -> None:
    recruits, client, said = _recruits({"tcp://a": FINE})
    assert recruits.require_one()
    assert recruits.any_left()
    assert (recruits.fit(), client.asked, said) == (["tcp://a"], ["tcp://a"] * 2, [])
    client.answers = {}
    assert not recruits.any_left()


def test_a_worker_that_ends_while_it_is_asked_stops_nothing() -> None:
    recruits, _, said = _recruits({"tcp://a": (OSError("Stream is closed"), OSError()), "tcp://b": FINE})
    assert recruits.require_one()
    assert (recruits.fit(), said) == (["tcp://b"], [])


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (
            (FINE[0], ModuleNotFoundError("No module named 'rocm_perf'")),
            "tcp://b on node1 lacks rocm-perf: No",
        ),
        ((FINE[0], ImportError("no polars")), "tcp://b on node1 cannot import rocm-perf: no polars"),
        ((FINE[0], "0.0.1"), f"tcp://b on node1 has rocm-perf 0.0.1: this is {__version__}"),
        ((("node2", "3.9", True), __version__), f"tcp://b on node2 runs Python 3.9: this is Python {PYTHON}"),
        ((("node2", PYTHON, False), __version__), "tcp://b on node2 does not see /job: there is nothing"),
        ((ValueError("odd\nmore"), __version__), "tcp://b does not answer: odd. Start it again"),
    ],
)
def test_a_worker_that_is_not_fit_is_refused_or_named_beside_others(answer: Any, line: str) -> None:
    alone, _, said = _recruits({"tcp://b": answer})
    with pytest.raises(NotSupportedError) as refused:
        alone.require_one()
    assert line in str(refused.value)
    assert said == []
    recruits, client, said = _recruits({"tcp://a": FINE})
    assert recruits.require_one()
    client.answers["tcp://b"] = answer
    assert recruits.any_left()
    assert recruits.any_left()
    assert len(said) == 1
    assert line in said[0]
    assert recruits.fit() == ["tcp://a"]
