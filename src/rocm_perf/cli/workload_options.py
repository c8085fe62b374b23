"""The options that `run` and `build` share: which workloads, from which catalogue, with which configuration."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import named_path
from rocm_perf.errors import UsageError

if TYPE_CHECKING:
    from rocm_perf.collect.request.configuration import Configuration

OBEYED = (
    "gpu_vendor",
    "guest_os",
    "docker_gpus",
    "slurm",
    "distributed",
)  # keys of a configuration that say how images are built and run


def add_workload_options(parser: argparse.ArgumentParser) -> None:
    """Add them to a verb."""
    parser.add_argument(
        "-t",
        "--tags",
        metavar="T",
        nargs="+",
        action="extend",
        default=[],
        help="names or tags of workloads, several separated by blanks or commas",
    )
    parser.add_argument(
        "--catalogue",
        "--catalog",
        metavar="F",
        type=named_path,
        help="file of workloads, beside those that come with rocm-perf (default: workloads.toml or models.json here)",
    )
    parser.add_argument("-c", "--additional-context", metavar="JSON", help="a configuration, inline")
    parser.add_argument(
        "-f", "--additional-context-file", metavar="FILE", type=named_path, help="or in a file"
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would be done; start nothing")
    parser.add_argument("--json", action="store_true", help="the answer as JSON on stdout")


def configuration_of(args: argparse.Namespace) -> tuple[Configuration, tuple[str, ...]]:
    """The configuration that the options give, and the keys in it that neither `profile` nor the verb uses."""
    from rocm_perf.collect.request.configuration import (
        Configuration,
        configuration_text,
        read_configuration,
    )

    if args.additional_context and args.additional_context_file:
        raise UsageError("--additional-context and --additional-context-file cannot be combined")
    if args.additional_context:
        return read_configuration(args.additional_context, "--additional-context", OBEYED)
    if args.additional_context_file:
        path = args.additional_context_file
        return read_configuration(configuration_text(path), str(path), OBEYED)
    return Configuration(), ()
