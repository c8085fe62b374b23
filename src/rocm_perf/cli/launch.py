"""`rocm-perf launch`."""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.analyze import AnalyzeCommand
from rocm_perf.cli.launch_parser import LAUNCHERS, LauncherParser
from rocm_perf.cli.output import say, show, show_json
from rocm_perf.cli.profile import ProfileCommand
from rocm_perf.errors import RocmPerfError, UsageError

if TYPE_CHECKING:
    from rocm_perf.fleet.job import Job
    from rocm_perf.fleet.launch_record import LaunchRecord
    from rocm_perf.fleet.launcher import Launched, Launcher, LaunchPlan

SCHEMA_VERSION = 1


class LaunchCommand:
    """Start a program on many GPUs, record its ranks, and bring the recordings together in one folder.

    Each rank runs `rocm-perf profile -- APP`, whose options are taken here as well. What was recorded is brought
    together also when the job fails, is cancelled or runs out of time.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        names = parser.add_subparsers(metavar="LAUNCHER", required=True, parser_class=LauncherParser)
        for name, (meaning, load) in LAUNCHERS.items():
            names.add_parser(name, help=meaning, load=load)

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.fleet.job_request import job_of
        from rocm_perf.fleet.launch_record import LaunchRecord, read_launch, write_launch
        from rocm_perf.fleet.launcher import write_files

        launcher: Launcher = args.launcher
        if args.collect:
            record = read_launch(args.collect)
            return _collect(record, launcher.resume(record.job, say), args)
        job, notices = job_of(args, launcher.obeys)
        check_profile_options(job)
        plan = launcher.plan(job, args)
        for notice in (*notices, *plan.notices):
            say(notice)
        if args.dry_run:
            _show_plan(plan, as_json=args.json)
            return 0
        record = LaunchRecord(launcher=launcher.name, job=job)
        write_files(plan, job.launch_folder)
        write_launch(record)
        return _collect(record, launcher.run(plan, job, say), args)


def check_profile_options(job: Job) -> None:
    """Refuse what `rocm-perf profile` would refuse on every node."""
    from rocm_perf.collect.request.presets import preset_name
    from rocm_perf.collect.request.rank_choice import ranks_of

    parser = argparse.ArgumentParser(prog="rocm-perf launch")
    ProfileCommand().prepare_parser(parser)
    parser.usage = "rocm-perf launch LAUNCHER [options] [options of profile] -- APP [args]"
    args = parser.parse_args([*job.profile, "--", *job.app])
    if args.app != ["--", *job.app]:
        raise UsageError(f"{args.app[0]!r} is not an option", "the application stands behind --")
    if args.deep:
        raise UsageError(
            "launch has no --deep",
            "the ranks are recorded once, and analysed together",
            "Launch it once more with the preset that the report names.",
        )
    if args.only_pass is not None:
        raise UsageError("--pass is for launchers of your own", "launch starts the ranks once for each run")
    if args.preset:
        preset_name(args.preset)
    if args.ranks and (absent := [rank for rank in ranks_of(args.ranks) if rank >= job.ranks]):
        raise UsageError(
            f"--ranks {args.ranks} names rank {min(absent)}",
            f"the {job.ranks} ranks of this job are 0 to {job.ranks - 1}",
        )


def _collect(record: LaunchRecord, launched: Launched, args: argparse.Namespace) -> int:
    """Bring together what the ranks left, say how it went, and report on it."""
    from rocm_perf.fleet.collected import collected, exit_code_of
    from rocm_perf.fleet.launch_record import write_launch
    from rocm_perf.fleet.ranks import rank_lines

    say(launched.message)
    if launched.state == "under way":
        return launched.exit_code
    done = collected(record, launched)
    write_launch(done)
    for line in rank_lines(done.ranks, done.missing):
        say(line)
    if any(row.recorded for row in done.ranks) and not args.no_analyze:
        report(done.job.folder)
    say(
        f"{'recorded' if any(row.recorded for row in done.ranks) else 'what is left of it is'} in {done.job.folder}"
    )
    if args.json:
        from rocm_perf.text import encode_json

        show_json(encode_json(done).decode())
    return exit_code_of(done)


def report(folder: Path) -> None:
    """Analyse a run, as the verb does, and leave its files there. As with `profile`, stdout is the program's."""
    analyze, parser = AnalyzeCommand(), argparse.ArgumentParser()
    analyze.prepare_parser(parser)
    try:
        with redirect_stdout(sys.stderr):
            analyze.run(parser.parse_args([str(folder), "--as-one", "-o", str(folder), "--force"]))
    except RocmPerfError as error:
        say(f"no report: {error}")


def _show_plan(plan: LaunchPlan, *, as_json: bool) -> None:
    """Print the files and the command of a launch."""
    from msgspec.structs import replace

    from rocm_perf.fleet.job import PASS, of_pass

    if as_json:
        from rocm_perf.text import encode_json

        first = replace(plan, argv=of_pass(plan.argv, 1))
        show_json(encode_json({"schema_version": SCHEMA_VERSION, "plan": first}).decode())
        return
    for name, text in plan.files.items():
        show(f"# {name}", text)
    variables = (f"{name}={shlex.quote(value)}" for name, value in plan.environment.items())
    if plan.argv:
        show(" ".join((*variables, shlex.join(of_pass(plan.argv, 1)))))
        if PASS in plan.argv:
            show(
                "# the same once more with --pass 2, 3, ... for each further run of the program that is needed"
            )
