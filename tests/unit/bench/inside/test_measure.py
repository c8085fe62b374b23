"""One measurement, on a clock that only the test moves."""

from __future__ import annotations

import random
import sys
from types import SimpleNamespace

import pytest

from rocm_perf.bench.inside.measure import CallError, measure
from rocm_perf.bench.journal import Entry, samples_in, windows_in
from rocm_perf.bench.settings import Settings
from rocm_perf.errors import NotSupportedError, UsageError
from tests.unit.bench.fakes import FakeClock, FakeStream, Work, fake_torch


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_first_call_and_warm_up_are_apart_from_the_samples(clock: FakeClock) -> None:
    work = Work(clock, 900, 30, 20, 2)
    samples = samples_in(measure(work, Settings(warmup=3, iterations=20), clock.clocks()))
    assert samples.first_call_ms == 900
    assert samples.warmup_ms == (30, 20, 2)
    assert samples.times_ms == (2.0,) * 20
    assert samples.clock == "wall clock"
    assert "measured by wall clock" in samples.notes[0]


def test_what_is_quiet_gets_the_samples_asked_for_and_what_is_noisy_gets_more(clock: FakeClock) -> None:
    source = random.Random(4)
    noisy = Work(clock, *(source.uniform(1, 2) for _ in range(5_000)))
    settings = Settings(warmup=0, iterations=50)
    assert len(samples_in(measure(Work(clock, 2), settings, clock.clocks())).times_ms) == 50
    count = len(samples_in(measure(noisy, settings, clock.clocks())).times_ms)
    assert count == 500  # ten times as many at most
    exactly = Settings(warmup=0, iterations=50, precision=None)
    assert len(samples_in(measure(noisy, exactly, clock.clocks())).times_ms) == 50


def test_it_stops_when_the_samples_are_precise_enough(clock: FakeClock) -> None:
    source = random.Random(4)
    work = Work(clock, *(source.gauss(10, 0.3) for _ in range(5_000)))
    samples = samples_in(measure(work, Settings(warmup=0, iterations=20), clock.clocks()))
    assert 20 < len(samples.times_ms) < 200
    assert samples.notes[1:] == ()


def test_the_budget_ends_it(clock: FakeClock) -> None:
    samples = samples_in(measure(Work(clock, 1_000), Settings(warmup=2, budget_s=10), clock.clocks()))
    assert len(samples.times_ms) == 8
    assert samples.notes[-1] == "the budget of 10 s is spent: 8 samples of 100 were taken"


def test_the_warm_up_leaves_half_of_the_budget(clock: FakeClock) -> None:
    samples = samples_in(measure(Work(clock, 1_000), Settings(warmup=50, budget_s=10), clock.clocks()))
    assert (len(samples.warmup_ms), len(samples.times_ms)) == (5, 5)


@pytest.mark.parametrize(
    ("failing_call", "where", "kept"),
    [(0, "the first call", 0), (4, "warm-up call 4", 0), (67, "sample 57", 56)],
)
def test_what_was_measured_before_an_error_is_kept(
    clock: FakeClock, failing_call: int, where: str, kept: int
) -> None:
    work = Work(clock, *([1.0] * failing_call), ValueError("bad shape"))
    entries: list[Entry] = []
    with pytest.raises(CallError, match=f"^{where}$") as raised:
        entries.extend(measure(work, Settings(), clock.clocks()))
    assert isinstance(raised.value.__cause__, ValueError)
    assert len(samples_in(entries).times_ms) == kept


def test_device_events_time_the_steady_state(clock: FakeClock) -> None:
    stream = FakeStream(clock)
    work = stream.logged("call", Work(clock, 4))
    entries = list(measure(work, Settings(warmup=1, iterations=20), clock.clocks(lambda _: stream.timer())))
    samples = samples_in(entries)
    assert samples.clock == "device events"
    assert samples.times_ms == (4.0,) * 20
    assert [(one.first, one.count) for one in windows_in(entries)] == [(0, 10), (10, 10)]
    last_record = len(stream.log) - stream.log[::-1].index("record")
    assert "synchronize device" not in stream.log[:last_record]
    assert samples.facts["device_synchronize_us"] == 0


def test_long_calls_come_in_small_batches(clock: FakeClock) -> None:
    entries = list(measure(Work(clock, 150), Settings(iterations=3), clock.clocks()))
    assert [window.count for window in windows_in(entries)] == [1, 1, 1]


def test_work_that_goes_on_elsewhere_is_noted(clock: FakeClock) -> None:
    stream = FakeStream(clock)
    timer = stream.timer()
    pending = [0.0]

    def call() -> str:
        clock.spend(1)
        pending[0] = 3
        return "launched"

    def synchronize_device() -> None:
        clock.spend(pending[0])
        pending[0] = 0

    object.__setattr__(timer.events, "synchronize_device", synchronize_device)
    samples = samples_in(measure(call, Settings(iterations=10), clock.clocks(lambda _: timer)))
    assert samples.facts["left_on_other_streams_us"] == 3_000
    assert "still running on another stream" in samples.notes[-1]


@pytest.fixture
def torch(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    stand_in = fake_torch(clock)
    monkeypatch.setitem(sys.modules, "torch", stand_in)
    return stand_in


@pytest.mark.usefixtures("torch")
def test_torch_tells_memory_and_machine(clock: FakeClock) -> None:
    from rocm_perf.bench.inside.runtimes import chosen_timer

    samples = samples_in(measure(Work(clock, 1), Settings(iterations=10), clock.clocks(chosen_timer)))
    assert samples.clock == "device events"
    assert samples.peak_memory_bytes == 4096
    assert samples.facts["machine"]["gfx"] == "gfx942"


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(("index", "noted"), [(0, False), (1, True)])
def test_a_result_on_another_gpu_is_noted(clock: FakeClock, index: int, noted: bool) -> None:
    result = SimpleNamespace(device=SimpleNamespace(type="cuda", index=index))

    def call() -> object:
        clock.spend(1)
        return result

    notes = samples_in(measure(call, Settings(iterations=10), clock.clocks())).notes
    assert any("not the current device" in note for note in notes) is noted


def test_cold_samples_flush_before_each(clock: FakeClock, torch: SimpleNamespace) -> None:
    from rocm_perf.bench.inside.runtimes import chosen_timer

    settings = Settings(warmup=0, iterations=10, cold=True)
    list(measure(Work(clock, 1), settings, clock.clocks(chosen_timer)))
    assert torch.log.count("flush") == 10


def test_a_graph_is_captured_once_and_its_replays_are_timed(clock: FakeClock, torch: SimpleNamespace) -> None:
    from rocm_perf.bench.inside.runtimes import chosen_timer

    work = Work(clock, 500, 50)
    settings = Settings(warmup=2, iterations=10, graph=True)
    samples = samples_in(measure(work, settings, clock.clocks(chosen_timer)))
    assert samples.times_ms == (1.0,) * 10
    assert samples.warmup_ms == (50, 50)
    assert samples.facts["graph_capture_ms"] == 100  # once on a side stream, once captured
    assert samples.facts["graph_warmup_ms"] == [1, 1]
    assert work.calls == 1 + 2 + 2


@pytest.mark.parametrize("settings", [Settings(cold=True), Settings(graph=True)])
def test_what_needs_a_gpu_says_so(clock: FakeClock, settings: Settings) -> None:
    with pytest.raises(NotSupportedError, match="torch on a GPU"):
        list(measure(Work(clock, 1), settings, clock.clocks()))


def test_recompiling_in_the_steady_state_is_counted(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    stats = {"unique_graphs": 0}
    dynamo = SimpleNamespace(counters={"stats": stats})
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", dynamo)
    calls = iter(range(1_000))

    def call() -> str:
        stats["unique_graphs"] += next(calls) in (0, 15)
        clock.spend(1)
        return "done"

    samples = samples_in(measure(call, Settings(), clock.clocks()))
    assert samples.facts["compiled_graphs"] == 1
    assert samples.facts["recompiled_in_steady_state"] == 1


def test_tunable_gemms_and_a_target_without_a_result_are_noted(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTORCH_TUNABLEOP_ENABLED", "1")
    notes = samples_in(measure(lambda: clock.spend(1), Settings(), clock.clocks())).notes
    assert any("PYTORCH_TUNABLEOP" in note for note in notes)
    assert any("returns nothing" in note for note in notes)


@pytest.mark.parametrize(
    "wrong",
    [{"warmup": -1}, {"iterations": 0}, {"budget_s": 0}, {"precision": float("nan")}, {"clock": "sun"}],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        Settings(**wrong)  # type: ignore[arg-type]
