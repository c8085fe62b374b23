"""`rocm-perf run` from the options to the outcomes: which workloads, their images, one after the other, and a report on
each."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from rocm_perf.bench.ceilings.store import chosen as measured_ceilings
from rocm_perf.cli.console import result_console
from rocm_perf.cli.output import say, show_json
from rocm_perf.cli.profile import ProfileCommand
from rocm_perf.cli.progress import status
from rocm_perf.cli.workload_options import configuration_of
from rocm_perf.collect.request.configuration import configured
from rocm_perf.collect.request.launching import start_of
from rocm_perf.collect.run.session import EXIT_INTERRUPTED
from rocm_perf.errors import RocmPerfError, UsageError
from rocm_perf.fleet.workloads.build import built, has_docker, planned
from rocm_perf.fleet.workloads.catalogue import catalogue, chosen
from rocm_perf.fleet.workloads.images import image_plan, needs_image
from rocm_perf.fleet.workloads.manifest import BuiltImage, Prepared, read_manifest
from rocm_perf.fleet.workloads.plan import (
    Asked,
    Step,
    combined,
    step_notices,
    step_of,
    where_of,
)
from rocm_perf.fleet.workloads.run import (
    FAILURES,
    Outcome,
    exit_code_of,
    finish_step,
    new_folder,
    record_step,
    without_image,
)
from rocm_perf.fleet.workloads.workload import Workload
from rocm_perf.model.document import Document
from rocm_perf.render import json
from rocm_perf.render.screen.drawn import characters_of
from rocm_perf.render.screen.terminal import View, print_document
from rocm_perf.units import format_count

SCHEMA_VERSION = 1


def prepare(args: argparse.Namespace) -> tuple[Prepared, Asked, tuple[str, ...]]:
    """The workloads to run and how, and notices about the configuration."""
    configuration, unused = configuration_of(args)
    known = configured(
        configuration
    ).notices  # `profile` says them; an unknown tool is refused before anything starts
    notices = configured(configuration, unused).notices[len(known) :]
    prepared = _chosen(args)
    start_of(configuration.distributed)  # refuses a launcher that is not a command line
    if args.timeout is not None:
        limited = tuple(replace(each, timeout_s=args.timeout) for each in prepared.workloads)
        prepared = replace(prepared, workloads=limited)
    asked = Asked(
        configuration=combined(prepared.configuration, configuration),
        environment=dict(os.environ),
        working_folder=Path.cwd(),
        has_docker=has_docker(),
        in_container=not args.here,
        stdout_to_stderr=args.json,
    )
    return prepared, asked, notices


def output_of(args: argparse.Namespace, asked: Asked) -> Path:
    """The folder that the folders of the runs lie in: what the user says, or else where SLURM's jobs record."""
    slurm = asked.configuration.slurm if asked.in_container else None
    named: str = slurm.output_dir if slurm else ""
    return Path(args.output_directory or named or "rocprof_output")


def dry_steps(prepared: Prepared, asked: Asked, output: Path) -> list[Step]:
    """What would be started, with the commands that build images first."""
    return [_dry_step(workload, prepared, asked, output / "TIME") for workload in prepared.workloads]


def _dry_step(workload: Workload, prepared: Prepared, asked: Asked, folder: Path) -> Step:
    if where_of(workload, asked) == "slurm":
        return step_of(workload, _pushed(workload, prepared)[0], folder, asked)
    if where_of(workload, asked) != "container":
        return step_of(workload, "", folder, asked)
    if image := prepared.images.get(workload.name):
        return step_of(workload, image.docker_image, folder, asked)
    plan = image_plan(workload, asked.configuration)
    return replace(step_of(workload, plan.image, folder, asked), before=plan.commands)


def run_all(prepared: Prepared, asked: Asked, args: argparse.Namespace) -> int:
    """Run one workload after the other; a signal that ends one of them ends the run."""
    prepared = prepared if args.manifest_file else _with_images(prepared, asked)
    outcomes: list[Outcome] = []
    try:
        for workload in prepared.workloads:
            outcomes.append(_outcome(workload, prepared, asked, args))
            _tell(outcomes[-1])
            if outcomes[-1].interrupted:
                break
    except KeyboardInterrupt:
        _sum_up(outcomes, prepared, EXIT_INTERRUPTED, as_json=args.json)
        raise
    code = exit_code_of(outcomes)
    _sum_up(outcomes, prepared, code, as_json=args.json)
    return code


def _chosen(args: argparse.Namespace) -> Prepared:
    """The workloads of the manifest, or of the catalogue; only those with a tag, where tags are given."""
    if args.manifest_file:
        prepared = read_manifest(args.manifest_file)
        return replace(prepared, workloads=chosen(prepared.workloads, args.tags)) if args.tags else prepared
    if not args.tags:
        raise UsageError(
            "run needs --tags, or --manifest-file", next_step="rocm-perf run --list names the workloads."
        )
    return Prepared(workloads=chosen(catalogue(args.catalogue, Path.cwd()), args.tags))


def _with_images(prepared: Prepared, asked: Asked) -> Prepared:
    """The same with the images of those that run in a container, which are built now."""
    wanted = [each for each in prepared.workloads if where_of(each, asked) == "container"]
    done = built(planned(wanted, asked.configuration), say, stdout_to_stderr=True)
    return replace(prepared, images=done.manifest.built_images)


def _outcome(workload: Workload, prepared: Prepared, asked: Asked, args: argparse.Namespace) -> Outcome:
    """Record one workload, and report on it."""
    for notice in step_notices(workload, asked):
        say(f"{workload.name}: {notice}")
    image = prepared.images.get(workload.name)
    if where_of(workload, asked) == "container" and not (image and image.built):
        return without_image(workload, image.reason if image else "the manifest names none")
    if where_of(workload, asked) == "slurm":
        name, reason = _pushed(workload, prepared)
        if reason:
            return without_image(workload, reason)
        image = BuiltImage(docker_image=name)
    folder = new_folder(output_of(args, asked))
    step = step_of(workload, image.docker_image if image else "", folder, asked)
    code, refusal = record_step(step, _profile)
    with status(f"analysing {workload.name}"):
        outcome, document = finish_step(step, code, refusal, measured_ceilings())
    if document and not args.json:
        _report(document, args)
    for notice in outcome.notices[len(step.notices) :]:
        say(f"{workload.name}: {notice}")
    return outcome


def _pushed(workload: Workload, prepared: Prepared) -> tuple[str, str]:
    """The image in which the nodes of a cluster run a workload, or why there is none; empty if it needs none."""
    image = prepared.images.get(workload.name)
    if image and image.built:
        return image.docker_image, ""
    if image is None and not needs_image(workload):
        return "", ""
    why = (
        image.reason
        if image and image.reason
        else "the nodes of a cluster do not have images of this machine"
    )
    return "", f"{why}; rocm-perf build --registry R makes one for run --manifest-file"


def _profile(arguments: Sequence[str]) -> tuple[int, str]:
    """Run `rocm-perf profile` in this process; returns its exit code, and why it refused to start."""
    command, parser = ProfileCommand(), argparse.ArgumentParser(prog="rocm-perf profile")
    command.prepare_parser(parser)
    try:
        return command.run(parser.parse_args(arguments[1:])), ""
    except RocmPerfError as error:
        return error.exit_code, str(error)


def _report(document: Document, args: argparse.Namespace) -> None:
    """Print the analysis on stderr: stdout belongs to the programs."""
    console = result_console(stderr=True, no_color=args.no_color)
    print_document(
        document, console, View(top=args.top, width=console.width, characters=characters_of(console))
    )


def _tell(outcome: Outcome) -> None:
    what = f"{outcome.status} in {outcome.folder}" if outcome.folder else outcome.status
    why = outcome.reason or outcome.finding
    say(f"{outcome.name}: {what}{f': {why}' if why else ''}")


def _sum_up(outcomes: Sequence[Outcome], prepared: Prepared, code: int, *, as_json: bool) -> None:
    left = [each.name for each in prepared.workloads[len(outcomes) :]]
    if left:
        say(f"interrupted; not started: {', '.join(left)}")
    if as_json:
        document = {
            "schema_version": SCHEMA_VERSION,
            "exit_code": code,
            "workloads": outcomes,
            "not_started": left,
        }
        show_json(json.encode(document))
    elif len(outcomes) > 1:
        failed = [f"{each.name} ({each.exit_code})" for each in outcomes if each.status in FAILURES]
        say(f"{len(outcomes) - len(failed)} of {format_count(len(outcomes), 'workload')} recorded")
        if failed:
            say(f"failed, with exit code: {', '.join(failed)}")
