"""Print what the first finding of each recording claims beside what its remedy brought, without a profiler:

    python tests/gpu/remedies/judged.py [tests/data/h200/remedies]

A claim holds if it is within a fifth of the time that was saved, or says "at most" and was not exceeded.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from rocm_perf.analysis.overview import examine
from rocm_perf.ingest.load import load_files
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding

HERE = Path(__file__).resolve().parents[3] / "tests/data/h200/remedies"
_NEAR = 0.2  # of the measured saving
# The variant of each program that does what the first finding says; None where it was not measured. By the id of the
# finding; `kernel-` and `group-` stand for all that begin so.
APPLIED: dict[str, dict[str, str | None]] = {
    "hf_generate": {"host-bound": "static_cache"},
    "tv_loader": {"host-elsewhere": "workers", "data-loading": "workers"},
    "pyg_molecules": {"host-bound": "batch512", "host-elsewhere": "collated_once"},
    "gp_regression": {"host-bound": None},
    "lightning_mlp": {"host-bound": "batch4096"},
    "cupy_options": {"group-": "fused"},
    "flax_train": {"host-bound": "jit_step"},
    "triton_matmul": {"kernel-": "tiles"},
    "hf_train": {"single-precision-products": "tf32", "kernel-": "tf32", "host-bound": None},
    "hf_encode": {"single-precision-products": "bf16", "kernel-": "bf16"},
    "tv_resnet": {"layout-conversions": "channels_last", "unfused-kernels": None, "kernel-": "bf16"},
    "neural_ode": {"host-bound": "rk4_graph", "synchronisation": "rk4"},
    "cupy_histogram": {"copies": "on_gpu", "host-elsewhere": "on_gpu"},
    "numpyro_svi": {"host-bound": "scan", "synchronisation": "loss_unread"},
    "triton_columns": {"kernel-": "neighbours32", "group-": "neighbours32"},
    "ddp_two": {"exposed-communication": "one_bucket", "slow-collective": "one_bucket"},
}


def answer(paths: list[Path]) -> Document:
    """Return everything that is said of a recording."""
    run = next(run for run in load_files(paths) if run.trace)
    assert run.trace is not None
    return examine(run.trace, paths[0].name)


def variant_of(program: str, finding: Finding) -> str | None:
    """Return the variant that applies the remedy of a finding, if it was measured."""
    known = APPLIED[program]
    if finding.id in known:
        return known[finding.id]
    begun = (
        variant for start, variant in known.items() if start.endswith("-") and finding.id.startswith(start)
    )
    return next(begun, None)


def row(case: dict[str, Any], recorder: str, paths: list[Path]) -> tuple[str, bool | None]:
    """Return the row of one recording, and whether the claim holds; None where nothing was claimed or measured."""
    document = answer(paths)
    first = document.findings[0]
    variant = variant_of(case["program"], first)
    measured = case["variants"][variant]["saved"] if variant else None
    stake, gain = first.time_at_stake_ns, first.projected_speedup
    claimed = None if stake is None else stake / document.judged_ns
    at_most = gain is None or "at most" in gain.formula
    holds = None
    if claimed is not None and measured is not None:
        near = abs(claimed - measured) <= _NEAR * abs(measured)
        holds = near or (at_most and measured <= claimed)
    said = "-" if claimed is None else f"{'at most ' if at_most else ''}{100 * claimed:.0f} %"
    brought = "-" if measured is None else f"{100 * measured:.0f} %"
    name = case["program"] + (" (kept back)" if case["kept_back"] else "")
    verdict = {True: "yes", False: "no", None: "-"}[holds]
    return (
        f"| {name} | {recorder} | {first.title} | {said} | {variant or '-'} | {brought} | {verdict} |",
        holds,
    )


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    print("| program | recorder | first finding | claimed | remedy applied | saved | holds |")
    print("|---|---|---|---:|---|---:|---|")
    held: dict[str, list[bool | None]] = {"cupti": [], "torch": []}
    for line in (folder / "cases.jsonl").read_text().splitlines()[1:]:
        case = json.loads(line)
        for recorder, verdicts in held.items():
            files = [folder / one["file"] for one in case["files"] if one["recorder"] == recorder]
            paths = [path for path in files if path.is_file()]
            if paths:
                text, holds = row(case, recorder, paths)
                verdicts.append(holds)
                print(text, flush=True)
    for recorder, verdicts in held.items():
        print(
            f"\n{recorder}: {verdicts.count(True)} of {len(verdicts)} hold, {verdicts.count(None)} claim nothing"
        )


if __name__ == "__main__":
    main()
