"""rocprofv3's own spellings of what to record. Light: every start of rocm-perf builds them."""

from __future__ import annotations

import argparse
from pathlib import Path

FORMATS = ("rocpd", "csv", "json", "pftrace", "otf2")
UNITS = ("hour", "min", "sec", "msec", "usec", "nsec")
_TRACES = {
    ("-s", "--sys-trace"): "every trace",
    ("-r", "--runtime-trace"): "every trace but hsa",
    ("--kernel-trace",): "kernels",
    ("--hip-trace",): "HIP calls",
    ("--hsa-trace",): "calls of the layer below HIP",
    ("--memory-copy-trace",): "copies",
    ("--memory-allocation-trace",): "allocations",
    ("--scratch-memory-trace",): "scratch memory",
    ("--marker-trace", "--roctx-trace"): "roctx ranges",
    ("--rccl-trace",): "collectives",
}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the options, in two groups."""
    traces = parser.add_argument_group("what to record, as rocprofv3 spells it (instead of a preset)")
    for spelled, meaning in _TRACES.items():
        traces.add_argument(*spelled, action="store_true", help=meaning)
    traces.add_argument(
        "--pmc", metavar="NAME", nargs="+", action="append", help="counters; one --pmc per pass"
    )
    traces.add_argument("-i", "--input", metavar="FILE", type=Path, help="counters: txt, yaml or json")
    traces.add_argument("--att", "--advanced-thread-trace", action="store_true", help="thread trace")
    traces.add_argument(
        "--pc-sampling-beta-enabled",
        action="store_true",
        help="sample where the waves of kernels are (PC sampling)",
    )
    traces.add_argument(
        "--pc-sampling-method", choices=("host_trap", "stochastic"), help="how samples are taken"
    )
    traces.add_argument(
        "--pc-sampling-unit",
        choices=("time", "cycles", "instructions"),
        help="what --pc-sampling-interval counts",
    )
    traces.add_argument(
        "--pc-sampling-interval", metavar="N", type=int, help="units from one sample to the next"
    )
    _add_choices(parser.add_argument_group("how much of it, as rocprofv3 spells it"))


def _add_choices(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--kernel-include-regex", metavar="RE", default="", help="only these kernels")
    group.add_argument("--kernel-exclude-regex", metavar="RE", default="", help="not these kernels")
    group.add_argument(
        "--kernel-iteration-range", metavar="RANGE", nargs="+", default=[], help="such as [2-4,7]"
    )
    group.add_argument(
        "-P", "--collection-period", metavar="D:L:R", nargs="+", default=[], help="delay:length:repeat"
    )
    group.add_argument("--collection-period-unit", choices=UNITS, default="", help="of those (sec)")
    group.add_argument("--selected-regions", action="store_true", help="only between roctx resume and pause")
    group.add_argument("--stats", action="store_true", help="the profiler's own statistics, as CSV")
    group.add_argument("-S", "--summary", action="store_true", help="the profiler's own summary")
    group.add_argument(
        "-f", "--output-format", metavar="FORMAT", nargs="+", default=[], choices=FORMATS, type=str.lower,
        help=", ".join(FORMATS),
    )  # fmt: skip
