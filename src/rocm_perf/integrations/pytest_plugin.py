"""The pytest plugin: the fixture `gpu_benchmark`, and a comparison with earlier sessions. pytest imports this module in
every project that has rocm-perf installed, so it imports nothing heavy before a benchmark runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

Benchmark = Callable[..., dict[str, Any]]
_KEPT = 500  # runs of a test among which comparable ones are looked for


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rocm-perf", "benchmarks with the fixture gpu_benchmark")
    group.addoption("--rocm-perf-save", action="store_true", help="keep the results in .rocm-perf/")
    group.addoption(
        "--rocm-perf-compare",
        action="store_true",
        help="fail a test whose benchmark is slower than in the sessions before that were saved",
    )
    group.addoption(
        "--rocm-perf-last", metavar="N", type=int, default=10, help="sessions to compare with (default 10)"
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
    is_saved, is_compared = (config.getoption(f"--rocm-perf-{name}") for name in ("save", "compare"))
    if not is_saved and not is_compared:
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
        last = config.getoption("--rocm-perf-last")
        complaint = judge_session([*before, run], last=last) if is_compared else ""
    except RocmPerfError as error:
        complaint = str(error)
    if complaint:
        pytest.fail(complaint, pytrace=False)
