"""The request that the options of `profile` make; what is wrong with them is said before anything starts."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from rocm_perf.arch.counter_sets import set_name
from rocm_perf.arch.metric_data import metrics
from rocm_perf.backends.base import TorchOptions, Wish
from rocm_perf.backends.profilers import present_name
from rocm_perf.collect.request.application import check_output, find_application, is_python
from rocm_perf.collect.request.configuration import (
    Configured,
    configuration_text,
    configured,
    output_name,
    read_configuration,
)
from rocm_perf.collect.request.counter_files import read_input_file, split_names
from rocm_perf.collect.request.flags import flags_of, merged
from rocm_perf.collect.request.presets import DEFAULT, preset, preset_name, presets
from rocm_perf.collect.request.rank_choice import of_rank, ranks_of
from rocm_perf.collect.request.request import SAMPLED, Request
from rocm_perf.collect.request.window import window_of
from rocm_perf.collect.request.window_options import WINDOW_OPTIONS
from rocm_perf.collect.run.layout import rank_of
from rocm_perf.errors import UsageError
from rocm_perf.model.window import Window


def application(args: argparse.Namespace) -> tuple[str, ...]:
    """The application: everything behind the first `--`, or from the first word that is not an option."""
    given: list[str] = args.app
    return tuple(given[1:] if given[:1] == ["--"] else given)


def request_of(args: argparse.Namespace) -> tuple[Request, tuple[str, ...]]:
    """The request, and notices about the configuration."""
    _refuse_attaching(args)
    _take_application_from_counters(args)
    command = application(args)
    file = find_application(command, os.environ)
    context = _context(args) or Configured()
    name, renamed = output_name(args.output_file, "--output-file")
    request = _recording(args, context, command, name)
    for folder in (request.output, args.scratch):
        if folder:
            check_output(Path(folder))
    sampling = replace(
        context.sampling,
        metrics=tuple(each for each in SAMPLED if each in {*args.sample, *context.sampling.metrics}),
        interval_s=args.sample_interval or context.sampling.interval_s,
    )
    made = replace(
        request,
        is_python=is_python(file),
        profiler=present_name(args.profiler) or context.profiler,
        run_id=_run_id(args),
        force_overwrite=args.force_overwrite,
        timeout_s=args.timeout,
        overhead_runs=args.measure_overhead,
        sampling=sampling,
        library_trace=args.library_trace or context.library_trace,
        environment={**context.environment, **dict(args.env)},
        stdout_to_stderr=args.json,
        keep_exit_code=args.keep_exit_code,
        only_pass=args.only_pass,
        scratch=str(args.scratch.absolute()) if args.scratch else "",
    )
    if args.ranks:
        made = of_rank(made, ranks_of(args.ranks), rank_of(os.environ | made.environment))
    notices = (*context.notices, *renamed, *tuning({**os.environ, **made.environment}))
    return made, notices


def _take_application_from_counters(args: argparse.Namespace) -> None:
    """Find the application among the words behind --counter or --pmc, which take all there are, where no other is
    given: guides write `--counter A,B python x.py`."""
    if args.app:
        return
    for words in (args.counters, *(args.pmc or ())[-1:]):
        for place, word in enumerate(words[1:], 1):
            if set_name(word) is None and word not in metrics() and shutil.which(word):
                args.app, words[place:] = words[place:], []
                return


def _run_id(args: argparse.Namespace) -> str:
    """The name of the run: what -o ends in, or what --run-id gives."""
    if not args.output:
        return str(args.run_id)
    folder = output_folder(args)
    if args.run_id:
        raise UsageError("-o and --run-id both name the run", f"-o names it {folder.name}", "Leave one out.")
    _refuse_others(folder)
    return folder.name


def output_folder(args: argparse.Namespace) -> Path:
    """The run's own folder that -o names, below -d where both are given."""
    folder = Path(args.output_directory or "", args.output).absolute()
    if not folder.name:
        raise UsageError(f"-o {args.output} names no folder", "it is to be the run's own", "Name a new one.")
    return folder


def _refuse_others(folder: Path) -> None:
    """Refuse a folder that holds something else than runs of ours."""
    if folder.is_dir() and any(folder.iterdir()) and not any(folder.glob("*/rank*-*")):
        raise UsageError(
            f"{folder} holds other files",
            "-o names the run's own folder",
            f"Name a new one, or record below it with -d {folder}.",
        )


def tuning(environment: Mapping[str, str]) -> tuple[str, ...]:
    """A warning where torch would try out GEMM kernels during the recording: TunableOp tunes wherever it is on."""
    on = environment.get("PYTORCH_TUNABLEOP_ENABLED") == "1"
    if not on or environment.get("PYTORCH_TUNABLEOP_TUNING") == "0":
        return ()
    return (
        "PYTORCH_TUNABLEOP_ENABLED=1 tunes while it is recorded: its trials of GEMM kernels are part of the recording. "
        "Run the program once, then record it with PYTORCH_TUNABLEOP_TUNING=0.",
    )


def _recording(
    args: argparse.Namespace, context: Configured, command: tuple[str, ...], output_name: str
) -> Request:
    """What to record: the preset that is named, or what the flags and the configuration name, or the default."""
    flags = flags_of(args)
    named = preset_name(args.preset) if args.preset else ""
    if not named and not flags.record and not context.preset:
        named = args.profiler if args.profiler in presets() else DEFAULT  # some have a preset of their own
    wish, sets = context.wish, context.counters
    if named:
        wish, sets = preset(named).wish, preset(named).counters
    names, passes = counters_of(args.counters)
    return Request(
        command=command,
        preset=named or context.preset,
        wish=replace(
            merged(wish, flags.wish),
            output_name=output_name or context.wish.output_name,
            tool_args=tuple(args.tool_arg),
            torch=_torch(args),
            window=_window(args, context, flags.wish),
        ),
        counters=tuple(dict.fromkeys((*sets, *flags.counters, *names))),
        counter_passes=(*(() if named else context.counter_passes), *flags.counter_passes, *passes),
        output=str(_output(args)),
    )


def _output(args: argparse.Namespace) -> Path:
    """The folder that the run's own lies in."""
    if args.output:
        return output_folder(args).parent
    return Path(args.output_directory or Request(command=()).output).absolute()


def _context(args: argparse.Namespace) -> Configured | None:
    if args.additional_context and args.additional_context_file:
        raise UsageError("--additional-context and --additional-context-file cannot be combined")
    if args.additional_context:
        return configured(*read_configuration(args.additional_context, "--additional-context"))
    if args.additional_context_file:
        path: Path = args.additional_context_file
        return configured(*read_configuration(configuration_text(path), str(path)))
    return None


def counters_of(given: list[str]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The names of counters, and the passes of files: `@FILE`, or a path."""
    names: list[str] = []
    passes: list[tuple[str, ...]] = []
    for name in given:
        path = Path(name.removeprefix("@"))
        if name.startswith("@") or os.sep in name or (path.suffix == ".txt" and path.exists()):
            passes += read_input_file(path).passes
        else:
            names += (set_name(each) or each for each in split_names([name]))
    return tuple(names), tuple(passes)


def _torch(args: argparse.Namespace) -> TorchOptions:
    given = {name: getattr(args, f"torch_{name}") for name in TorchOptions.__struct_fields__}
    return TorchOptions(**{name: value for name, value in given.items() if value is not None})


def _window(args: argparse.Namespace, context: Configured, asked: Wish) -> Window:
    """The window of the options, or else of the configuration; refused beside rocprofv3's own way to choose one."""
    window = window_of({name: getattr(args, name) for name in WINDOW_OPTIONS}) or context.window
    if window and (asked.collection_period or asked.selected_regions):
        own = "--collection-period" if asked.collection_period else "--selected-regions"
        raise UsageError(f"--{window.parts[0]} and {own} both choose a part of the run", "", "Leave one out.")
    return window


def _refuse_attaching(args: argparse.Namespace) -> None:
    if args.pid is not None:
        raise UsageError(
            "attaching to a running process is left to rocprofv3",
            "rocm-perf starts the application itself",
            f"rocprofv3 -p {args.pid} -d DIR, then rocm-perf analyze DIR.",
        )
