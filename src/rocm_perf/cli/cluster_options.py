"""The options that spread an analysis over the workers of a cluster."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import positive, seconds, size
from rocm_perf.errors import UsageError

if TYPE_CHECKING:
    from rocm_perf.fleet.cluster.request import ClusterRequest


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add them."""
    parser.add_argument(
        "--cluster",
        metavar="WHERE",
        help="analyse the ranks of a job one by one on Dask workers and add them up: local, slurm (workers are "
        "submitted), or the address of a scheduler",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=positive,
        help="workers to start (default: one for each core; on slurm 4)",
    )
    parser.add_argument(
        "--worker-memory",
        metavar="SIZE",
        type=size,
        help="memory of each worker: 6G, 500M (default: its part of what is available; on slurm 4G)",
    )
    parser.add_argument(
        "--wait",
        metavar="S",
        type=seconds,
        help="with --cluster slurm or an address: give up where there has been no worker for S seconds (default: slurm "
        "3600, and the job is cancelled; an address 300)",
    )


def cluster_request(args: argparse.Namespace) -> ClusterRequest:
    """What was asked for; raises where other options cannot be obeyed beside it."""
    from rocm_perf.fleet.cluster.request import LOCAL, ClusterRequest

    given = {
        "--window A..B": not isinstance(args.window, str),
        "--range": args.range is not None,
        "--step-kind": args.step_kind is not None,
        "--each": args.each,
        "--in-parts": args.in_parts,
        "--capture": bool(args.captures),
        "--gpu": args.gpu is not None,
        "--sort": args.sort is not None,
        "--link-bandwidth": args.link_bandwidth is not None,
    }
    for option, is_given in given.items():
        if is_given:
            raise UsageError(f"--cluster and {option} exclude each other", next_step="Leave one of them out.")
    if len(args.paths) > 1:
        raise UsageError("--cluster takes one folder", next_step="Name the folder that holds all ranks.")
    request = ClusterRequest(args.cluster, args.workers, args.worker_memory, args.wait)
    if request.wait_s and request.where == LOCAL:
        raise UsageError(
            "--wait is for workers that others start",
            "those of --cluster local are started here, at once",
            "Leave it out.",
        )
    if request.is_address and (request.workers or request.worker_memory):
        raise UsageError(
            "--workers and --worker-memory are for workers that are started here",
            f"those of {request.where} run already",
            "Leave them out, or use --cluster local.",
        )
    return request
