"""`rocm-perf suite`."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import count, named_path, new_folder
from rocm_perf.cli.output import say, show_json
from rocm_perf.cli.progress import show_measuring
from rocm_perf.errors import EmptyCaptureError

if TYPE_CHECKING:
    from rocm_perf.model.results.suite import ProductSuite


class SuiteCommand:
    """Multiply matrices by every means this machine has: which are right, how fast, how near to the peak.

    `suite wmma` runs torch, the BLAS libraries, Triton and a kernel of our own over types and shapes, compares each
    result with float64, and writes wmma_profile_TIME.json and .svg. A folder of your own adds variants (docs/suite.md).
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("suite", choices=("wmma",), help="wmma: products of matrices")
        parser.add_argument("--shapes", metavar="N,MxNxK", help="square or m, n, k (default: 1024 to 8192)")
        parser.add_argument(
            "--dtypes", metavar="f16,...", help="f16, bf16, f8, i8, xf32, f32, f64 (default: all)"
        )
        parser.add_argument(
            "--variants",
            metavar="DIR",
            type=named_path,
            action="append",
            default=[],
            help="a folder with variants of your own, beside the packaged ones",
        )
        parser.add_argument(
            "--device",
            metavar="N",
            type=count,
            default=0,
            help="which GPU, as programs count them (default 0)",
        )
        parser.add_argument(
            "-o", "--output", metavar="DIR", type=new_folder, default=Path("traces"), help="default: ./traces"
        )
        parser.add_argument("--json", action="store_true", help="print the results as JSON, too")

    def run(self, args: argparse.Namespace) -> int:
        suite = _measured(args)
        _write(suite, args.output)
        if args.json:
            from rocm_perf.render import json

            show_json(json.encode(suite))
        else:
            _print(suite)
        for case in suite.wrong:
            say(f"{case.variant} {case.dtype} {case.shape} is wrong: its error is {case.error:.1e}")
        return 1 if suite.wrong else 0


def _measured(args: argparse.Namespace) -> ProductSuite:
    from rocm_perf.backends.probe import probe_machine
    from rocm_perf.bench.ceilings.store import chosen
    from rocm_perf.bench.suite.request import (
        DTYPES,
        SHAPES,
        SuiteRequest,
        parse_dtypes,
        parse_shapes,
        variant_files,
    )
    from rocm_perf.bench.suite.run import run_suite

    request = SuiteRequest(
        files=variant_files(args.variants),
        shapes=parse_shapes(args.shapes or SHAPES),
        dtypes=parse_dtypes(args.dtypes) if args.dtypes else DTYPES,
        device=args.device,
    )
    progress = show_measuring if sys.stderr.isatty() else lambda _: None
    try:
        suite = run_suite(probe_machine(), request, chosen(), progress)
    finally:
        progress("")
    if not suite.cases:
        reasons = "; ".join(dict.fromkeys(f"{one.variant}: {one.reason}" for one in suite.left_out))
        raise EmptyCaptureError("no variant ran", reasons)
    return suite


def _write(suite: ProductSuite, folder: Path) -> None:
    """Leave wmma_profile_TIME.json and the picture of the same name in the folder."""
    from rocm_perf.files import write_whole
    from rocm_perf.render import json
    from rocm_perf.render.screen.suite import suite_picture

    stem = f"{suite.suite}_profile_{suite.date.replace(':', '').replace('-', '')}"
    contents = {".json": json.encode(suite) + "\n", ".svg": suite_picture(suite)}
    for suffix, text in contents.items():
        path = folder / f"{stem}{suffix}"
        write_whole(path, partial(Path.write_text, data=text, encoding="utf-8"), overwrite=True)
        say(f"wrote {path}")


def _print(suite: ProductSuite) -> None:
    from rocm_perf.cli.console import result_console
    from rocm_perf.render.screen.suite import suite_blocks

    console = result_console()
    for block in suite_blocks(suite, console.width):
        console.print(block)
