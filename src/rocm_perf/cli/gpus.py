"""`rocm-perf gpus`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocm_perf.cli.output import show_json

if TYPE_CHECKING:
    from rocm_perf.arch.gpu import Gpu


class GpusCommand:
    """What is known about each GPU: size, peaks, and which profiling methods work.

    With a NAME: everything about that GPU, each number with its source. TFLOP/s are data-sheet peaks, without sparsity.
    Your own files in $ROCM_PERF_GPUS, or else in rocm-perf/gpus of the configuration folder, add or correct GPUs
    (docs/gpus.md).
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("gpu", metavar="NAME", nargs="?", help="MI300X, 'RX 7900 XTX', gfx942, ...")
        parser.add_argument("--json", action="store_true", help="print as JSON, with every source")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.arch import catalog

        chosen: Sequence[Gpu]
        if args.gpu is None:
            chosen = catalog.gpus()
        else:
            chosen = catalog.gpus_of(args.gpu.lower()) or (catalog.find_gpu(args.gpu),)
        if args.json:
            _print_json(chosen)
        else:
            _print(chosen)
        return 0


def _print(chosen: Sequence[Gpu]) -> None:
    from rocm_perf.cli.console import result_console
    from rocm_perf.render.screen.gpus import gpu_blocks, gpu_table

    console = result_console()
    if len(chosen) == 1:
        for block in gpu_blocks(chosen[0]):
            console.print(block)
        return
    console.print(gpu_table(chosen, console.width))
    console.print(
        "[dim]TFLOP/s without sparsity; counters: first ROCm with them. `rocm-perf gpus NAME` shows everything.[/]"
    )


def _print_json(chosen: Sequence[Gpu]) -> None:
    from rocm_perf.model.document import SCHEMA_VERSION
    from rocm_perf.render import json

    show_json(json.encode({"schema_version": SCHEMA_VERSION, "gpus": list(chosen)}))
