"""`rocm-perf profile`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rocm_perf.errors import UsageError


class ProfileCommand:
    """Record a workload and report on it.

    For now the device is a simulated one: APP is a workload file, as in examples/workloads. The recording is a bundle,
    in a folder of its own that nothing overwrites.
    """

    name = "profile"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--device", metavar="D", required=True, help="sim:MI300X")
        parser.add_argument(
            "-o", "--output", metavar="DIR", type=Path, help="bundle (default: NAME-1, NAME-2, ...)"
        )
        parser.add_argument("--force", action="store_true", help="replace the bundle")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and stop")
        parser.add_argument("--json", action="store_true", help="the report as JSON")
        parser.add_argument(
            "app", metavar="APP", nargs="+", help="workload file; -- before it ends our options"
        )
        parser.usage = "rocm-perf profile --device D [-o DIR] [--force] [--dry-run] [--json] -- APP"

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf import api
        from rocm_perf.model import bundle
        from rocm_perf.sim.gpu import find_gpu
        from rocm_perf.sim.workload import read_workload

        gpu = find_gpu(args.device)
        if len(args.app) != 1:
            raise UsageError("a simulated device runs one workload file", f"{len(args.app)} words were given")
        source = Path(args.app[0])
        workload = read_workload(source)
        target = args.output or _free_name(source)
        if args.dry_run:
            print(
                f"would simulate {source} ({workload.name}) on {gpu.name} ({gpu.gfx}) and write the bundle {target}"
            )
            return 0
        trace = api.simulate(source, args.device)
        bundle.write(trace, target, overwrite=args.force)
        print(f"recorded {target}", file=sys.stderr)
        return _report(target, args.json)


def _free_name(source: Path) -> Path:
    """The first of NAME-1, NAME-2, ... that is not taken."""
    number = 1
    while (folder := Path(f"{source.stem}-{number}")).exists():
        number += 1
    return folder


def _report(folder: Path, as_json: bool) -> int:
    from rocm_perf.cli.main import main

    return main(["analyze", str(folder), *(["--json"] if as_json else [])])
