"""Which windows options and configurations make, and which are refused, each in one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.collect.request.configuration import configured, read_configuration
from rocm_perf.collect.request.window import Value, window_of
from rocm_perf.errors import UsageError
from rocm_perf.model.window import PROFILER_CALLS, Window


@pytest.mark.parametrize(
    ("given_", "window"),
    [
        ({}, Window()),
        ({"delay": None, "range": None}, Window()),
        ({"delay": "0"}, Window(delay_s=0)),
        ({"delay": "1.5", "duration": 2}, Window(delay_s=1.5, duration_s=2)),
        ({"last": "30", "max_size": "2G"}, Window(last_s=30, max_bytes=2_000_000_000)),
        ({"max_size": "500M"}, Window(max_bytes=500_000_000)),
        ({"max_size": "1.5 GiB"}, Window(max_bytes=3 << 29)),
        ({"max_size": 70000}, Window(max_bytes=70000)),
        ({"range": "train step", "steps": "3..5"}, Window(range="train step", steps=(3, 5))),
        ({"delay": 60, "duration": "5", "range": "x"}, Window(delay_s=60, duration_s=5, range="x")),
        ({"steps": "7"}, Window(steps=(7, 7))),
        ({"steps": 7}, Window(steps=(7, 7))),
        ({"range": "@profiler"}, Window(range=PROFILER_CALLS)),
    ],
)
def test_what_is_asked_for(given_: dict[str, Value | None], window: Window) -> None:
    assert window_of(given_) == window
    assert bool(window_of(given_)) == bool(window.parts)


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"delay": "-1"}, "0 or more"),
        ({"delay": "soon"}, "not a number of seconds"),
        ({"delay": "nan"}, "is not possible"),
        ({"duration": "0"}, "more than 0"),
        ({"duration": "inf"}, "is not possible"),
        ({"last": "1e7"}, "at most 1,000,000"),
        ({"max_size": "big"}, "not a size"),
        ({"max_size": "-3M"}, "not a size"),
        ({"max_size": "100"}, "65,536"),
        ({"steps": "5..3"}, "Write --steps 3..5"),
        ({"steps": "0..3"}, "counted from 1"),
        ({"steps": "a..b"}, "write it as 3..5"),
        ({"range": " "}, "has no name"),
        ({"delay": "1", "last": "3"}, "--delay and --last cannot be combined"),
        ({"range": "x", "last": "3"}, "--range and --last cannot be combined"),
        ({"last": "1", "steps": "2"}, "--steps and --last cannot be combined"),
        ({"duty": "100"}, "from 1 to 90 %"),
        ({"duty": "0.1"}, "from 1 to 90 %"),
        ({"duty": "a tenth"}, "not a number of percent"),
        ({"period": "60s"}, "--period needs --duty"),
        ({"duty": "10%", "period": "a while"}, "is not a time"),
        ({"duty": "10%", "period": "2days"}, "is not a time"),
        ({"duty": "10%", "period": "0"}, "from 0.5 s to 24 hours"),
        ({"duty": "1%", "period": "1s"}, "windows of 10 ms are too short"),
        ({"duty": "10%", "period": "60s", "duration": "30"}, "before the second window opens"),
        ({"duty": "10%", "range": "step"}, "--duty and --range cannot be combined"),
        ({"duty": "10%", "steps": "2"}, "--duty and --steps cannot be combined"),
        ({"duty": "10%", "last": "2"}, "--duty and --last cannot be combined"),
        ({"colour": "red"}, "has no 'colour'"),
    ],
)
def test_nonsense_is_one_line(given_: dict[str, Value | None], said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        window_of(given_)
    assert refused.value.exit_code == 2
    assert "\n" not in str(refused.value)


@given(
    st.dictionaries(st.sampled_from(["delay", "duration", "max_size", "last", "range", "steps"]), st.text())
)
def test_any_text_makes_a_window_or_a_line(given_: dict[str, str]) -> None:
    try:
        window = window_of(dict(given_))
    except UsageError:
        return
    assert {part.replace("-", "_") for part in window.parts} == set(given_)
    assert window.sentence or not given_


@pytest.mark.parametrize(
    ("given_", "open_s", "first_s", "openings"),
    [
        ({"duty": "10%"}, 6, 27, None),
        ({"duty": "10 %", "period": "2min"}, 12, 54, None),
        ({"duty": 25, "period": 2}, 0.5, 0.75, None),
        ({"duty": "10%", "period": "60s", "delay": "0"}, 6, 0, None),
        ({"duty": "10%", "period": "60s", "duration": "150"}, 6, 27, 3),
    ],
)
def test_windows_that_recur(
    given_: dict[str, Value | None], open_s: float, first_s: float, openings: int | None
) -> None:
    window = window_of(given_)
    assert (window.open_s, window.first_s, window.openings) == pytest.approx((open_s, first_s, openings))
    assert window.recurs
    assert f"{open_s:g} s of every" in window.sentence


def test_a_configuration_has_the_same_words() -> None:
    text = '{"tools": [{"name": "rocprofv3_sys"}], "window": {"range": "step", "steps": "2..4", "max-size": "1G"}}'
    configuration, unused = read_configuration(text, "here")
    made = configured(configuration, unused)
    assert made.window == Window(range="step", steps=(2, 4), max_bytes=10**9)
    assert made.notices == ()
    with pytest.raises(UsageError, match="cannot be combined"):
        configured(read_configuration('{"window": {"delay": 1, "last": 2}}', "here")[0])
    with pytest.raises(UsageError, match="window"):
        read_configuration('{"window": {"delay": [1]}}', "here")


def test_the_words_for_a_window() -> None:
    assert Window().sentence == ""
    assert Window(delay_s=5, duration_s=2.5).sentence == "from 5 s after the start, for 2.5 s"
    assert Window(last_s=30, max_bytes=1 << 30).sentence == "the last 30 s, at most 1.00 GiB per process"
    assert Window(range="a", steps=(2, 3)).sentence == "while the range 'a' is open, times 2 to 3"
    assert Window(steps=(2, 3)).sentence == "steps 2 to 3"
