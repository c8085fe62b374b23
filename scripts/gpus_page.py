"""Writes docs/gpus.md from the catalogue: `python scripts/gpus_page.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rocm_perf.arch import catalog
from rocm_perf.arch.gpu import Gpu, Source
from rocm_perf.render.screen.gpus import facts, method_text, short_name, source_text

PAGE = Path(__file__).parents[1] / "docs" / "gpus.md"
_INTRO = """\
# GPUs

<!-- Written by scripts/gpus_page.py from src/rocm_perf/arch/gpus/*.toml: change those, then run it. -->

What `rocm-perf gpus` knows. Rates are peaks without sparsity, in TFLOP/s (TOP/s for i8); f32 of CDNA 3 and 4 and of
RDNA 3 and later counts two operations per lane and clock (packed or dual issue). A die (GCD) of MI250 and MI250X is a
GPU of its own. On NVIDIA a compute unit is an SM and LDS is shared memory. Nothing here is measured.

The number in brackets is the source, which says where it was read: an address, or a repository and path. "Not opened"
marks a page or data sheet that could not be read: its numbers are what the vendor is known to state, unchecked.
Sources other than the vendor (TechPowerUp and others) are named as such. One test recomputes the vector rates, and
AMD's matrix rates, from compute units x operations per clock x clock within 2 %; where a clock or rate is itself
computed, that proves nothing, and its source says so. Another recomputes the bandwidth from bus width x data rate
within 2 % (2.5 % where the vendor rounds to whole TB/s), for all but six GPUs. A number without a source is left out.

## Your own GPUs
Files in `$ROCM_PERF_GPUS`, or else in `rocm-perf/gpus` in the configuration folder (`$XDG_CONFIG_HOME`,
`~/.config`), add products or correct those listed here. Every number is in a table named after its source:
```toml
gfx = "gfx942"                    # a known chip: its products share what is known about it

[sources.measured]
title = "our own measurement, rocm_bandwidth_test, May 2026"

[[sku]]
name = "AMD Instinct MI300X"      # known: corrected; new: added

[sku.from.measured]
memory_gbps = 4900
```
A file with an error is refused, and the message names the file and the field: a number without a source, an unknown
source or field, a number that is not positive or physically impossible, a name given twice.

## Which GPU a recording was made on
Its name decides; without one, chip, compute units, memory and clock do, and the answer names the other GPUs that fit.
What the recording says about compute units, dies, clock, memory and wave size overrides the catalogue, and each
override is noted. Fewer compute units than the product has (partition modes of MI300, MIG) scale its rates and
caches. A higher recorded clock raises the rates; a lower one does not lower them, because some drivers report the
game clock as the highest.

Where a recording does not say, `--gpu NAME` of `analyze`, `compare` and `report` does (`rocm_perf.analyze(path,
gpu="MI300X")` in Python): a name, the beginning or the end of one, or a gfx with one product. It fills in what is
missing, keeps what is recorded (the compute units of a partition), and is marked "as you named it". A name that the
recording itself, the names of its kernels (`ISA942`, `nvjet_sm90`) or its counters contradict is refused.
"""


def page(gpus: Sequence[Gpu]) -> str:
    """The text of docs/gpus.md."""
    numbers: dict[Source, int] = {}
    chips = [list(_chip(gfx, [gpu for gpu in gpus if gpu.gfx == gfx], numbers)) for gfx in _chips(gpus)]
    lines = [_INTRO]
    for chip in chips:
        lines += chip
    lines += ["## Sources", *(f"{number}. {_link(source)}" for source, number in numbers.items())]
    return "\n".join(lines) + "\n"


def _chips(gpus: Sequence[Gpu]) -> list[str]:
    return list(dict.fromkeys(gpu.gfx for gpu in gpus))


def _chip(gfx: str, gpus: Sequence[Gpu], numbers: dict[Source, int]) -> Iterator[str]:
    yield f"## {gfx}: {gpus[0].vendor} {gpus[0].family}"
    yield f"| | {' | '.join(short_name(gpu) for gpu in gpus)} |"
    yield "|---|" + "---|" * len(gpus)
    columns = [{title: _cell(value, source, numbers) for title, value, source in facts(gpu)} for gpu in gpus]
    for title in dict.fromkeys(title for column in columns for title in column):
        yield f"| {title} | {' | '.join(column.get(title, '-') for column in columns)} |"
    yield ""
    for method in gpus[0].methods:
        mark = _mark(gpus[0].sources[f"methods.{method.name}"], numbers)
        yield f"- {method.name.replace('_', ' ')}: {method_text(method)} {mark}"
    yield ""


def _cell(value: str, source: Source | None, numbers: dict[Source, int]) -> str:
    return (
        "-"
        if value.startswith("unavailable")
        else value
        if source is None
        else f"{value} {_mark(source, numbers)}"
    )


def _mark(source: Source, numbers: dict[Source, int]) -> str:
    return f"[{numbers.setdefault(source, len(numbers) + 1)}]"


def _link(source: Source) -> str:
    return source_text(source).replace(source.url, f"<{source.url}>") if source.url else source_text(source)


if __name__ == "__main__":
    PAGE.write_text(page(catalog.packaged_gpus()), encoding="utf-8")
