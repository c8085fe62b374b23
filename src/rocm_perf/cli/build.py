"""`rocm-perf build`."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import named_path
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.cli.workload_options import add_workload_options, configuration_of
from rocm_perf.errors import UsageError

if TYPE_CHECKING:
    from rocm_perf.fleet.workloads.build import Build

SCHEMA_VERSION = 1


class BuildCommand:
    """Build images of named workloads, with rocm-perf in them, and write build_manifest.json.

    `rocm-perf run --manifest-file build_manifest.json` runs what the file names. Images are built only where docker is;
    elsewhere the manifest says what is missing, and the exit code is 4. With --registry the images are pushed there.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        add_workload_options(parser)
        parser.add_argument("-r", "--registry", metavar="R", default="", help="push images there")
        parser.add_argument(
            "-m",
            "--manifest-output",
            metavar="F",
            type=named_path,
            default=Path("build_manifest.json"),
            help="the manifest (default build_manifest.json)",
        )

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.fleet.workloads.build import built, planned
        from rocm_perf.fleet.workloads.catalogue import catalogue, chosen
        from rocm_perf.fleet.workloads.manifest import write_manifest

        if not args.tags:
            raise UsageError("build needs --tags", next_step="rocm-perf run --list names the workloads.")
        configuration, _ = configuration_of(args)
        workloads = chosen(catalogue(args.catalogue, Path.cwd()), args.tags)
        build = planned(workloads, configuration, args.registry)
        if args.dry_run:
            _show_plan(build, as_json=args.json)
            return 0
        done = built(build, say, stdout_to_stderr=args.json)
        write_manifest(done.manifest, args.manifest_output)
        for failure in done.failures:
            say(failure)
        say(f"wrote {args.manifest_output}; rocm-perf run --manifest-file {args.manifest_output} runs it")
        if args.json:
            from rocm_perf.render import json

            show_json(json.encode(done.manifest))
        return done.exit_code


def _show_plan(build: Build, *, as_json: bool) -> None:
    if as_json:
        from rocm_perf.render import json

        show_json(json.encode({"schema_version": SCHEMA_VERSION, "plans": build.plans}))
        return
    for workload in build.workloads:
        plan = build.plans.get(workload.name)
        show(f"{workload.name}: {f'image {plan.image}' if plan else 'needs no image'}")
        for command in plan.commands if plan else ():
            show(f"  {shlex.join(command)}")
    if build.plans:
        show("CONTEXT stands for a folder with this rocm-perf and its Dockerfile, made for the build.")
