"""rocprofv3's own options."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from rocm_perf.backends.base import DOMAINS, PcSampling, Wish
from rocm_perf.collect.request.flag_options import add_flags
from rocm_perf.collect.request.flags import Flags, flags_of, merged
from rocm_perf.errors import RocmPerfError


def flags(*words: str) -> Flags:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return flags_of(parser.parse_args(words))


def test_traces() -> None:
    assert flags("-r").wish.domains == tuple(domain for domain in DOMAINS if domain != "hsa")
    assert flags("-s").wish.domains == DOMAINS
    assert flags("--marker-trace", "--kernel-trace").wish.domains == ("kernel", "marker")
    assert not flags("--stats", "-f", "CSV").record


def test_counters_are_passes_of_their_own() -> None:
    found = flags("--pmc", "A,B", "C", "--pmc", "D")
    assert found.counter_passes == (("A", "B", "C"), ("D",))
    assert found.record


def test_pc_sampling() -> None:
    asked = (
        "--pc-sampling-method",
        "stochastic",
        "--pc-sampling-unit",
        "cycles",
        "--pc-sampling-interval",
        "256",
    )
    assert flags("--pc-sampling-beta-enabled", *asked).wish.pc_sampling == PcSampling(
        "stochastic", "cycles", 256
    )
    assert flags("--pc-sampling-beta-enabled").wish.pc_sampling == PcSampling("host_trap", "time", 1000)
    assert flags("--pc-sampling-unit", "cycles").wish.pc_sampling == PcSampling(
        "stochastic", "cycles", 1 << 20
    )


def test_choices() -> None:
    wish = flags(
        "--kernel-include-regex", "a.*", "--kernel-exclude-regex", "b", "--kernel-iteration-range", "[1-3,5]", "7",
        "-P", "5:1:1", "--collection-period-unit", "msec", "-f", "json", "PFTRACE", "-S", "--att",
    ).wish  # fmt: skip
    assert wish == Wish(
        att=True,
        summary=True,
        formats=("json", "pftrace"),
        kernel_include="a.*",
        kernel_exclude="b",
        iteration_range=("[1-3,5]", "7"),
        collection_period=("5:1:1",),
        collection_period_unit="msec",
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-P", "5"), "collection period"),
        (("--kernel-iteration-range", "x"), "range of iterations"),
        (("--selected-regions", "-P", "1:1:1"), "cannot be combined"),
        (("--pc-sampling-interval", "0"), "1 or more"),
        (("--kernel-include-regex", "("), "regular expression"),
        (("-i", "none.txt"), "cannot read none.txt"),
    ],
)
def test_nonsense_is_refused(words: tuple[str, ...], told: str) -> None:
    with pytest.raises(RocmPerfError, match=told):
        flags(*words)


def test_an_input_file_brings_counters_and_options(tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text(
        "jobs:\n  - pmc: [A, B]\n    kernel_include_regex: x\n    kernel_trace: true\n    output_format: csv\n"
    )
    found = flags("-i", str(file))
    assert found.counter_passes == (("A", "B"),)
    assert found.wish == Wish(domains=("kernel",), kernel_include="x", formats=("csv",))
    file.write_text("jobs:\n  - pmc: [A]\n    truncate_kernels: true\n")
    with pytest.raises(RocmPerfError, match="truncate_kernels cannot be used"):
        flags("-i", str(file))


def test_an_input_file_of_a_known_set_that_is_not_here() -> None:
    assert flags("-i", "../somewhere/compute_bound.txt").counters == ("compute_bound",)


def test_merging() -> None:
    base = Wish(domains=("kernel",), formats=("csv",), stats=True)
    assert merged(base, Wish()) == base
    both = merged(base, Wish(domains=("hip", "hsa"), formats=("json",)))
    assert both == Wish(domains=("kernel", "hip", "hsa"), formats=("json",), stats=True)
