"""Metric files with a mistake are refused, and the mistake is named."""

from __future__ import annotations

import pytest

from rocm_perf.arch.metric_data import read_metrics
from rocm_perf.errors import InputError

GOOD = (
    'source = "s"\n[m]\ntitle = "t"\nunit = "B"\n[[m.formulas]]\ngfx = ["gfx942"]\nexpression = "SQ_WAVES"\n'
)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('unit = "B"', 'unit = "parsec"', "unit 'parsec' is unknown"),
        ('"SQ_WAVES"', '"SQ_WAVEZ"', "SQ_WAVEZ is not a counter of gfx942"),
        ('"SQ_WAVES"', '"GL2C_HIT_sum"', "GL2C_HIT_sum is not a counter of gfx942"),
        ('"SQ_WAVES"', '"speed"', "speed is not a counter of gfx942, a metric or a constant"),
        ('"SQ_WAVES"', '"m + 1"', "defined in terms of itself"),
        ('"SQ_WAVES"', '"SQ_WAVES +"', "metric m: the expression cannot be read at column"),
        ('unit = "B"', 'unit = "B"\nlow = 2\nhigh = 1', "leave nothing between them"),
        ('unit = "B"', 'unit = "B"\nhigh = "moon"', "bound 'moon' is not a peak"),
        ('unit = "B"', 'unit = "B"\ncolour = 1', "unknown field `colour`"),
        ('title = "t"\n', "", "missing required field `title`"),
        ('source = "s"\n', "", "no source"),
        ("[m]", "[m", "not valid TOML"),
        ("[m]", "n = 1\n[m]", "x.toml: n is not a valid metric"),
        ('gfx = ["gfx942"]', 'gfx = ["gfx942"]\nnames = ["a.b"]', "a.b is named but not used"),
    ],
)
def test_a_bad_file_is_refused(before: str, after: str, said: str) -> None:
    assert read_metrics({"x.toml": GOOD.encode()})
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        read_metrics({"x.toml": GOOD.replace(before, after).encode()})


def test_a_metric_is_stated_once() -> None:
    with pytest.raises(InputError, match=r"y\.toml: m is defined twice"):
        read_metrics({"x.toml": GOOD.encode(), "y.toml": GOOD.encode()})


def test_a_circle_of_metrics_is_refused() -> None:
    second = GOOD.replace("[m]", "[n]").replace("[[m.", "[[n.").replace('"SQ_WAVES"', '"m"')
    with pytest.raises(InputError, match="defined in terms of itself"):
        read_metrics({"x.toml": GOOD.replace('"SQ_WAVES"', '"n"').encode(), "y.toml": second.encode()})
