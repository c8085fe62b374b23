"""Which workers may take part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from rocm_perf.errors import NotSupportedError
from rocm_perf.fleet.cluster.connection import require_same_version
from rocm_perf.version import __version__


@dataclass
class Client:
    """Answers as Dask's does, with what each worker returned or raised."""

    answers: dict[str, Any]

    def run(self, _function: object, *, on_error: str) -> dict[str, Any]:
        assert on_error == "return"
        return self.answers


def test_a_worker_that_ends_while_it_is_asked_stops_nothing() -> None:
    require_same_version(Client({"tcp://a": OSError("Stream is closed"), "tcp://b": __version__}))


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (ModuleNotFoundError("No module named 'rocm_perf'"), "lacks rocm-perf"),
        ("0.0.1", r"tcp://b has rocm-perf 0\.0\.1"),
    ],
)
def test_others_may_count_differently(answer: object, text: str) -> None:
    with pytest.raises(NotSupportedError, match=text):
        require_same_version(Client({"tcp://a": __version__, "tcp://b": answer}))


def test_any_other_failure_is_raised() -> None:
    with pytest.raises(ValueError, match="odd"):
        require_same_version(Client({"tcp://a": ValueError("odd")}))
