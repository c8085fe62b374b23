"""What rocprofv3's own options ask for: on the command line, in the `cmd` of a configuration, in the jobs of a file."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rocm_perf.arch.counter_sets import set_name
from rocm_perf.backends.base import DOMAINS, Domain, PcSampling, Wish
from rocm_perf.collect.request.counter_files import InputFile, read_input_file, split_names
from rocm_perf.collect.request.flag_options import FORMATS
from rocm_perf.errors import InputError, UsageError

_TRACES: dict[str, tuple[Domain, ...]] = {
    "sys_trace": DOMAINS,
    "runtime_trace": tuple(domain for domain in DOMAINS if domain != "hsa"),
    "kernel_trace": ("kernel",),
    "hip_trace": ("hip",),
    "hsa_trace": ("hsa",),
    "memory_copy_trace": ("copy",),
    "memory_allocation_trace": ("allocation",),
    "scratch_memory_trace": ("scratch",),
    "marker_trace": ("marker",),
    "rccl_trace": ("rccl",),
}
_PERIOD = re.compile(r"\d+(\.\d+)?:\d+(\.\d+)?:\d+")
_RANGE = re.compile(r"\[?\d+(-\d+)?(,\d+(-\d+)?)*\]?")


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """What the flags ask for."""

    wish: Wish = Wish()
    counters: tuple[str, ...] = ()  # sets of counters
    counter_passes: tuple[tuple[str, ...], ...] = ()

    @property
    def record(self) -> bool:
        """Whether they name anything to record."""
        wish = self.wish
        return bool(wish.domains or wish.pc_sampling or wish.att or self.counters or self.counter_passes)


def flags_of(args: Namespace) -> Flags:
    """What parsed options ask for; refused where they make no sense together."""
    given: dict[str, Any] = dict(vars(args))
    sets: tuple[str, ...] = ()
    passes = tuple(split_names(group) for group in given.get("pmc") or ())
    if given.get("input"):
        sets, read = _input(given["input"])
        passes += read.passes
        given = _with_job_options(given, read.options, given["input"])
    _refuse_nonsense(given)
    return Flags(wish=_wish(given), counters=sets, counter_passes=tuple(each for each in passes if each))


def _input(path: Path) -> tuple[tuple[str, ...], InputFile]:
    """The sets and passes of a file; where it is not here, the set of its name, as wrappers ship such files."""
    if not path.exists() and (known := set_name(path.stem)):
        return (known,), InputFile(())
    return (), read_input_file(path)


def _with_job_options(given: dict[str, Any], options: dict[str, Any], path: Path) -> dict[str, Any]:
    """The options with those of a job, which are the long ones, spelled with `_`."""
    for name, value in options.items():
        if name == "advanced_thread_trace":
            given["att"] = value
        elif name not in given:
            raise InputError(f"{path}: {name} cannot be used here", "", "Give it with --tool-arg instead.")
        elif isinstance(given[name], list) and not isinstance(value, list):
            given[name] = str(value).split()
        else:
            given[name] = value
    return given


def _refuse_nonsense(given: dict[str, Any]) -> None:
    periods, ranges = given.get("collection_period", ()), given.get("kernel_iteration_range", ())
    if bad := [each for each in periods if not _PERIOD.fullmatch(str(each))]:
        raise UsageError(f"{bad[0]!r} is not a collection period", "write delay:length:repeat, such as 5:1:1")
    if bad := [each for each in ranges if not _RANGE.fullmatch(str(each))]:
        raise UsageError(f"{bad[0]!r} is not a range of iterations", "write it as [2-4,7] or 3")
    if given.get("selected_regions") and periods:
        raise UsageError("--selected-regions and --collection-period cannot be combined")
    interval = given.get("pc_sampling_interval")
    if interval is not None and (not isinstance(interval, int) or interval < 1):
        raise UsageError("--pc-sampling-interval has to be 1 or more")
    for name in ("kernel_include_regex", "kernel_exclude_regex"):
        try:
            re.compile(given.get(name) or "")
        except re.error as error:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} is not a regular expression", str(error)) from error


def _wish(given: dict[str, Any]) -> Wish:
    chosen = {domain for name, domains in _TRACES.items() if given.get(name) for domain in domains}
    return Wish(
        domains=tuple(domain for domain in DOMAINS if domain in chosen),
        pc_sampling=_sampling(given),
        formats=_formats(given.get("output_format")),
        kernel_include=given.get("kernel_include_regex") or "",
        kernel_exclude=given.get("kernel_exclude_regex") or "",
        iteration_range=tuple(map(str, given.get("kernel_iteration_range") or ())),
        collection_period=tuple(map(str, given.get("collection_period") or ())),
        collection_period_unit=given.get("collection_period_unit") or "",
        att=bool(given.get("att")),
        stats=bool(given.get("stats")),
        summary=bool(given.get("summary")),
        selected_regions=bool(given.get("selected_regions")),
    )


def _formats(asked: Any) -> tuple[str, ...]:
    names = tuple(str(name).lower() for name in asked or ())
    if unknown := [name for name in names if name not in FORMATS]:
        raise UsageError(f"{unknown[0]!r} is not an output format", f"there are {', '.join(FORMATS)}")
    return names


def _sampling(given: dict[str, Any]) -> PcSampling | None:
    """A method, a unit or an interval alone says that sampling is wanted; what is left open is what works widely."""
    method, unit = given.get("pc_sampling_method"), given.get("pc_sampling_unit")
    interval = given.get("pc_sampling_interval")
    if not (given.get("pc_sampling_beta_enabled") or method or unit or interval):
        return None
    chosen = method or ("stochastic" if unit == "cycles" else "host_trap")
    if chosen == "stochastic":
        return PcSampling("stochastic", unit or "cycles", interval or 1_048_576)
    return PcSampling("host_trap", unit or "time", interval or 1_000)


def merged(base: Wish, more: Wish) -> Wish:
    """Both wishes in one; where only one can be had, the second's."""
    domains = {*base.domains, *more.domains}
    changed = {name: value for name in more.__struct_fields__ if (value := getattr(more, name))}
    return replace(base, **{**changed, "domains": tuple(domain for domain in DOMAINS if domain in domains)})
