"""Configuration files of benchmark runners (`--additional-context`): their tools become what to record.

What a file says of containers, launchers and SLURM is read and kept for `rocm-perf launch`.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, NoReturn

import msgspec
from msgspec.structs import replace

from rocm_perf.backends.base import Wish
from rocm_perf.backends.profilers import PROFILERS
from rocm_perf.collect.request.flag_options import add_flags
from rocm_perf.collect.request.flags import Flags, flags_of, merged
from rocm_perf.collect.request.launching import Distributed, Kubernetes, Slurm
from rocm_perf.collect.request.presets import ALIASES, preset, presets
from rocm_perf.collect.request.request import SAMPLED, Sampled, Sampling
from rocm_perf.collect.request.window import window_of
from rocm_perf.errors import UsageError
from rocm_perf.files import read_text
from rocm_perf.model.window import Window

_SAMPLERS: dict[str, Sampled] = {"gpu_info_power_profiler": "power", "gpu_info_vram_profiler": "memory"}
_LIBRARIES = ("rocblas_trace", "hipblaslt_trace", "miopen_trace", "tensile_trace", "rccl_trace")
_PLAIN = ("rocprofv3", "rocprof")  # alone: what rocprofv3 --runtime-trace records
# Tools that are profilers of their own: which, and what makes them do as the tool's name says.
_TRACERS: dict[str, tuple[str, dict[str, str]]] = {
    "rpd": ("rpd", {}),
    "rocm_trace_lite": ("rocm-trace-lite", {"RTL_MODE": "lite"}),
    "rocm_trace_lite_default": ("rocm-trace-lite", {"RTL_MODE": "default"}),
}
_CHECKS = {"therock_check": "rocm-perf doctor says which ROCm is here"}  # tools that record nothing
_RATES = ("POWER_SAMPLING_RATE", "VRAM_SAMPLING_RATE")
_SAME_NAMES = ("rocprofv3_multi_node.json", "rocprofv3_multinode.json")  # guides spell it in both ways
_OBEYED = ("env_vars", "tools", "window")  # by `profile`; the other keys are for launchers and containers
_LAUNCHING = ("distributed", "slurm", "k8s", "kubernetes")

Variables = dict[str, str | int | float | bool]


class ToolEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of `tools`."""

    name: str
    cmd: str = ""
    env_vars: Variables = {}


class Configuration(msgspec.Struct, frozen=True):
    """A configuration as its file has it."""

    gpu_vendor: str = ""
    guest_os: str = ""
    docker_gpus: str = ""
    env_vars: Variables = {}
    distributed: Distributed | None = None
    slurm: Slurm | None = None
    k8s: Kubernetes | None = None
    kubernetes: Kubernetes | None = None  # the same, under its other name
    tools: tuple[ToolEntry, ...] = ()
    window: dict[str, str | int | float] = {}  # the options that choose a part of the run, by their names


_PARTS: dict[str, type[msgspec.Struct]] = {
    "distributed": Distributed,
    "slurm": Slurm,
    "k8s": Kubernetes,
    "kubernetes": Kubernetes,
}


class Configured(msgspec.Struct, frozen=True, kw_only=True):
    """What a configuration asks `profile` for."""

    preset: str = ""
    profiler: str = ""  # empty: the best that is here
    wish: Wish = Wish()
    counters: tuple[str, ...] = ()
    counter_passes: tuple[tuple[str, ...], ...] = ()
    environment: dict[str, str] = {}
    sampling: Sampling = Sampling()
    library_trace: bool = False
    window: Window = Window()
    notices: tuple[str, ...] = ()


def read_configuration(
    text: str, where: str, obeyed: Collection[str] = ()
) -> tuple[Configuration, tuple[str, ...]]:
    """The configuration in a text, which is JSON or a Python dictionary as guides write it inline; and the keys that
    are not used. `obeyed` are keys that the caller uses beside what `profile` does."""
    document = _decoded(text, where)
    if not isinstance(document, dict):
        raise UsageError(f"{where} is not a configuration", "it has to be one JSON object")
    try:
        configuration = msgspec.convert(document, Configuration)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {error}") from error
    return configuration, tuple(_unused(document, {*_OBEYED, *obeyed}))


def _unused(document: dict[Any, Any], obeyed: Collection[str]) -> Iterator[str]:
    """The keys of a configuration that nothing uses; those that begin with `_` are comments."""
    for key, value in document.items():
        if str(key).startswith("_"):
            continue
        if key not in obeyed:
            yield str(key)
        elif key in _PARTS and value:
            yield from _unknown(value, _PARTS[key], f"{key}.")
        elif key == "tools":
            for place, tool in enumerate(value):
                yield from _unknown(tool, ToolEntry, f"tools[{place}].")


def _unknown(document: dict[Any, Any], kind: type[msgspec.Struct], prefix: str) -> Iterator[str]:
    known = kind.__struct_fields__
    return (f"{prefix}{name}" for name in document if name not in known and not str(name).startswith("_"))


def configuration_text(path: Path) -> str:
    """A file's text; the configuration for several nodes is found under either of its names."""
    if path.name in _SAME_NAMES and not path.exists():
        path = next((each for name in _SAME_NAMES if (each := path.with_name(name)).exists()), path)
    return read_text(path)


def configured(configuration: Configuration, unused: tuple[str, ...] = ()) -> Configured:
    """What the tools of a configuration ask for, all in one recording."""
    profilers = [tool for tool in configuration.tools if _known(tool.name) == "profiler"]
    samplers = [tool for tool in configuration.tools if tool.name in _SAMPLERS]
    tracer = _tracer(configuration.tools, profilers)
    asked = [_flags(tool) for tool in profilers]
    wish = Wish(domains=PROFILERS[_TRACERS[tracer.name][0]].domains) if tracer else Wish()
    for flags, _ in asked:
        wish = merged(wish, flags.wish)
    environment, warnings = _environment(configuration, [tracer] if tracer else profilers)
    left_out = tuple(notice for _, notices in asked for notice in notices)
    return Configured(
        preset="+".join(_plain(tool.name) for tool in profilers) or (tracer.name if tracer else ""),
        profiler=_TRACERS[tracer.name][0] if tracer else "",
        wish=wish,
        counters=tuple(dict.fromkeys(name for flags, _ in asked for name in flags.counters)),
        counter_passes=tuple(group for flags, _ in asked for group in flags.counter_passes),
        environment=environment,
        sampling=_sampling(samplers),
        library_trace=any(tool.name in _LIBRARIES for tool in configuration.tools),
        window=window_of({name.replace("-", "_"): value for name, value in configuration.window.items()}),
        notices=(*left_out, *_checks(configuration.tools), *warnings, *_unused_keys(unused)),
    )


def _tracer(tools: tuple[ToolEntry, ...], profilers: list[ToolEntry]) -> ToolEntry | None:
    """The tool that is a profiler of its own, if there is one; refused beside another profiler."""
    tracers = [tool for tool in tools if _known(tool.name) == "tracer"]
    if len(tracers) + bool(profilers) > 1:
        names = ", ".join(tool.name for tool in (*tracers, *profilers))
        raise UsageError("tools: two profilers at once disturb one another", names, "Leave all but one out.")
    return tracers[0] if tracers else None


def _checks(tools: tuple[ToolEntry, ...]) -> tuple[str, ...]:
    """What is left out because it records nothing, and what to do instead."""
    own = (tool for tool in tools if tool.name in _TRACERS and tool.cmd.strip())
    commands = tuple(f"{tool.name}: its cmd is not used; --tool-arg hands it options" for tool in own)
    return commands + tuple(
        f"{tool.name} is left out, it records nothing: {_CHECKS[tool.name]}"
        for tool in tools
        if tool.name in _CHECKS
    )


def _unused_keys(unused: tuple[str, ...]) -> tuple[str, ...]:
    if not unused:
        return ()
    launching = [key for key in unused if key in _LAUNCHING]
    hint = f" (rocm-perf launch --config obeys {' and '.join(launching)})" if launching else ""
    return (f"not used here: {', '.join(unused)}{hint}",)


def _decoded(text: str, where: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        try:
            return ast.literal_eval(text.strip())
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise UsageError(f"{where} is not valid JSON", str(error)) from error


def _known(name: str) -> str:
    """The kind of a tool; an unknown name is refused with the nearest one."""
    if name in _SAMPLERS:
        return "sampler"
    if name in _LIBRARIES:
        return "library"
    if name in _TRACERS:
        return "tracer"
    if name in _CHECKS:
        return "check"
    if _plain(name) in presets():
        return "profiler"
    names = [*(f"rocprofv3_{each}" for each in presets()), *_PLAIN, *_TRACERS, *_SAMPLERS, *_LIBRARIES]
    near = difflib.get_close_matches(name[:60], names, n=1)
    hint = f"the nearest is {near[0]}" if near else ""
    raise UsageError(f"tools: there is no tool {name[:60]!r}", hint, f"Known: {', '.join(names)}.")


def _plain(name: str) -> str:
    plain = name.removeprefix("rocprofv3_").removeprefix("rocprof_")
    return "runtime" if name in _PLAIN else ALIASES.get(plain, plain)


def _flags(tool: ToolEntry) -> tuple[Flags, tuple[str, ...]]:
    """The flags of a tool's `cmd`, or else of its preset."""
    if not tool.cmd.strip():
        chosen = preset(_plain(tool.name))
        return Flags(wish=chosen.wish, counters=chosen.counters), ()
    arguments = _arguments(tool)
    parser = _Parser(add_help=False, allow_abbrev=False)
    add_flags(parser)
    parser.add_argument("-d", "--output-directory")
    parser.add_argument("-o", "--output-file")
    args, others = parser.parse_known_args(arguments)
    flags = flags_of(args)
    name, notices = output_name(args.output_file or "", f"{tool.name}: -o")
    if args.output_directory:
        notices += (f"{tool.name}: -d {args.output_directory} is not used: -d or -o of `profile` says where",)
    if others:
        notices += (f"{tool.name}: {' '.join(others)} is left out: nothing here knows it",)
    return replace(flags, wish=replace(flags.wish, output_name=name)), notices


def output_name(given: str, option: str) -> tuple[str, tuple[str, ...]]:
    """What the profiler's files are called below the folder of the run: they would be lost elsewhere."""
    path = PurePath(given)
    if not path.is_absolute() and ".." not in path.parts:
        return given, ()
    return path.name, (f"{option} {given} names {path.name} in the run's folder, where rocm-perf looks",)


def _arguments(tool: ToolEntry) -> list[str]:
    """The arguments behind the wrapper and before the last `--`."""
    try:
        arguments = shlex.split(tool.cmd)
    except ValueError as error:
        raise UsageError(f"tools: the cmd of {tool.name} cannot be split into words", str(error)) from error
    first = next((place for place, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    flags = arguments[first:]
    return flags[: flags.index("--")] if "--" in flags else flags


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError("tools: a cmd cannot be understood", message)


def _sampling(samplers: list[ToolEntry]) -> Sampling:
    chosen = {_SAMPLERS[tool.name] for tool in samplers}
    rates = [tool.env_vars[name] for tool in samplers for name in _RATES if name in tool.env_vars]
    intervals = [_interval(rate) for rate in rates]
    return Sampling(
        metrics=tuple(each for each in SAMPLED if each in chosen),
        interval_s=min(intervals, default=Sampling().interval_s),
    )


def _interval(rate: str | int | float | bool) -> float:
    try:
        interval = float(rate)
    except ValueError as error:
        raise UsageError(f"tools: {rate!r} is not a sampling rate", "it is an interval in seconds") from error
    if not 0 < interval < float("inf"):
        raise UsageError(f"tools: {rate!r} is not a sampling rate", "it has to be more than 0 seconds")
    return interval


def _environment(
    configuration: Configuration, profilers: list[ToolEntry]
) -> tuple[dict[str, str], tuple[str, ...]]:
    given: dict[str, str] = variable_texts(configuration.env_vars)
    for tool in profilers:
        given |= {**_TRACERS.get(tool.name, ("", {}))[1], **variable_texts(tool.env_vars)}
    notices = []
    if level := given.get("RCCL_DEBUG"):
        given.setdefault("NCCL_DEBUG", level)
        notices.append("RCCL does not read RCCL_DEBUG: NCCL_DEBUG is set with it")
    if given.get("HSA_ENABLE_SDMA") == "0":
        notices.append("HSA_ENABLE_SDMA=0 changes the program that is measured: copies run as kernels")
    return given, tuple(notices)


def variable_texts(variables: Mapping[str, str | int | float | bool]) -> dict[str, str]:
    """Variables of the environment as texts; a flag is 1 or 0."""
    return {
        name: str(int(value)) if isinstance(value, bool) else str(value) for name, value in variables.items()
    }
