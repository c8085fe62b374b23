"""Whether `rocm-perf profile` records counters of the kernels that matter after its trace: because --deep asks for it,
or because the program is so short that nobody minds."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from rocm_perf.collect.request.presets import DEFAULT
from rocm_perf.collect.request.request import Depth, Request
from rocm_perf.collect.run.layout import RUN_ID_VARIABLE, rank_of, ranks_in
from rocm_perf.errors import UsageError

_STDIN = 0
# They start the program several times, or elsewhere: one of them run again alone would wait for the others.
_LAUNCHERS = frozenset(
    (
        *("torchrun", "accelerate", "deepspeed", "horovodrun", "ray"),
        *(
            "srun",
            "sbatch",
            "mpirun",
            "mpiexec",
            "mpiexec.hydra",
            "orterun",
            "prterun",
            "jsrun",
            "aprun",
            "flux",
        ),
        *("docker", "podman", "apptainer", "singularity", "ssh"),
    )
)


def depth_of(args: argparse.Namespace, request: Request, environment: Mapping[str, str]) -> Depth:
    """What --deep and --no-deep say; without them, short programs go deep where nothing else was asked for."""
    if args.deep:
        _refuse_ranks(environment)
        return "asked"
    if args.deep is False or not _is_plain(args, request) or _runs_with_others(request, environment):
        return "no"
    return "no" if _input_comes_by_pipe() else "short"


def _is_plain(args: argparse.Namespace, request: Request) -> bool:
    """Whether the verb says no more than which program to record, and where to."""
    wish = request.wish
    return not (
        args.preset
        or request.preset != DEFAULT
        or request.profiler
        or request.counters
        or request.counter_passes
        or request.only_pass is not None
        or request.overhead_runs
        or request.sampling.metrics
        or request.timeout_s
        or request.library_trace
        or request.of_job
        or wish.window
        or wish.collection_period
        or wish.selected_regions
        or wish.tool_args
        or wish.pc_sampling
        or wish.att
        or args.no_analyze
    )


def _runs_with_others(request: Request, environment: Mapping[str, str]) -> bool:
    started = Path(request.command[0]).name in _LAUNCHERS or any(
        word in ("torch.distributed.run", "torch.distributed.launch") for word in request.command[1:4]
    )
    ranked = ranks_in(environment) > 1 or rank_of(environment) is not None
    return started or ranked or RUN_ID_VARIABLE in environment


def _input_comes_by_pipe() -> bool:
    """Whether the program may read what another one writes, which is there once."""
    try:
        kind = os.fstat(_STDIN).st_mode
    except OSError:
        return False
    return (kind & 0o170000) in (0o010000, 0o140000)  # a pipe, a socket


def _refuse_ranks(environment: Mapping[str, str]) -> None:
    if (ranks := ranks_in(environment)) > 1:
        raise UsageError(
            "--deep runs the program again, for counters",
            f"this is one of {ranks} ranks, which run together",
            "Launch it without --deep, then once more with the preset that the report names.",
        )
