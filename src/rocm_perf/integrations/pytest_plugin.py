"""The pytest plugin: the fixture `gpu_benchmark`, and a comparison with earlier sessions. pytest imports this module in
every project that has rocm-perf installed, so it imports nothing heavy before a benchmark runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

Benchmark = Callable[..., dict[str, Any]]
_LAST = 10
_KEPT = 500  # runs of a test among which comparable ones are looked for


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rocm-perf", "benchmarks with the fixture gpu_benchmark")
    group.addoption("--rocm-perf-save", action="store_true", help="keep the results in .rocm-perf/")
    group.addoption(
        "--rocm-perf-compare",
        metavar="N",
        nargs="?",
        type=int,
        const=_LAST,
        help=f"fail a test whose benchmark is slower than in the last N sessions that were saved (default {_LAST})",
    )


@pytest.fixture
def gpu_benchmark(request: pytest.FixtureRequest) -> Benchmark:
    """A function that measures as `rocm_perf.benchmark` does and returns the same. Its results are kept under the
    test's name with --rocm-perf-save, and judged with --rocm-perf-compare; a second one in the same test as #2."""
    calls = itertools.count(1)

    def measure(fn: Callable[..., object], *args: Any, **options: Any) -> dict[str, Any]:
        from rocm_perf.bench.here import benchmark

        data = benchmark(fn, *args, **options)
        number = next(calls)
        target = request.node.nodeid + (f"#{number}" if number > 1 else "")
        settings = {name: value for name, value in options.items() if name != "kwargs"}
        _finish(data | {"target": target, "settings": settings}, request.config)
        return data

    return measure


def _finish(data: dict[str, Any], config: pytest.Config) -> None:
    """Keep a result, and fail the test if it is slower than those before, or cannot be judged as was asked."""
    is_saved, last = config.getoption("--rocm-perf-save"), config.getoption("--rocm-perf-compare")
    if not is_saved and last is None:
        return
    from rocm_perf.bench.history.gate import judge_session
    from rocm_perf.bench.history.records import SavedRun
    from rocm_perf.bench.history.store import History
    from rocm_perf.bench.results import with_surroundings
    from rocm_perf.bench.samples import Result
    from rocm_perf.errors import RocmPerfError

    history = History(config.rootpath / ".rocm-perf")
    run = SavedRun(result=with_surroundings(Result.from_json(data)))
    try:
        before = history.runs(run.result.target, _KEPT)
        if is_saved:
            history.add_run(run)
        if last is not None and (complaint := judge_session([*before, run], last=last)):
            pytest.fail(complaint, pytrace=False)
    except RocmPerfError as error:
        pytest.fail(str(error), pytrace=False)
