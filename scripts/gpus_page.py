"""Writes docs/gpus.md from the catalogue: `python scripts/gpus_page.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rocm_perf.arch import catalog
from rocm_perf.arch.gpu import Gpu, Source
from rocm_perf.render.screen.gpus import facts, method_words, short_name, source_words

PAGE = Path(__file__).parents[1] / "docs" / "gpus.md"
_INTRO = """\
# GPUs

<!-- Written by scripts/gpus_page.py from src/rocm_perf/arch/gpus/*.toml: change those, then run it. -->

What `rocm-perf gpus` knows. Rates are peaks without sparsity, in TFLOP/s (TOP/s for i8); f32 of CDNA 3 and 4 and of
RDNA 3 and later counts two operations a lane and clock (packed or dual issue). A die (GCD) of MI250 and MI250X is a
GPU of its own. On NVIDIA a compute unit is an SM and LDS is shared memory. Nothing here is measured.

The number in brackets is the source. It says where it was read: an address, or a repository and path. "Not opened"
marks a page or data sheet that could not be read: its numbers are what the vendor is known to state, not checked.
Sources that are not the vendor's (TechPowerUp and others) say so. One test recomputes the vector rates, and AMD's
matrix rates, from compute units x operations a clock x clock within 2 %; where a clock or rate is itself computed,
that proves nothing, and its source says so. Another recomputes the bandwidth from bus width x data rate within 2 %
(2.5 % where the vendor rounds to whole TB/s), for all but six GPUs. What has no source is left out.

## Your own GPUs
Files in `$ROCM_PERF_GPUS`, or else in `rocm-perf/gpus` of the configuration folder (`$XDG_CONFIG_HOME`,
`~/.config`), add products or correct those that are here. Every number stands in a table named after its source:
```toml
gfx = "gfx942"                    # a chip that is known brings what its products share

[sources.measured]
title = "our own measurement, rocm_bandwidth_test, May 2026"

[[sku]]
name = "AMD Instinct MI300X"      # known: corrected; new: added

[sku.from.measured]
memory_gbps = 4900
```
A file that is wrong is refused with its name and field: a number without source, an unknown source or field, a
number that is not positive or beyond what is physical, a name twice.

## Which GPU a recording was made on
By its name; else by chip, compute units, memory and clock, and the answer names the others that it may be. What the
recording says of compute units, dies, clock, memory and wave size overrides the catalogue, and each override is
noted. Fewer compute units than the product has (partition modes of MI300, MIG) scale its rates and caches. A higher
recorded clock raises the rates; a lower one does not lower them, because some drivers report the game clock as the
highest.
"""


def page(gpus: Sequence[Gpu]) -> str:
    """The whole document."""
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
        yield f"- {method.name.replace('_', ' ')}: {method_words(method)} {mark}"
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
    return source_words(source).replace(source.url, f"<{source.url}>") if source.url else source_words(source)


if __name__ == "__main__":
    PAGE.write_text(page(catalog.packaged_gpus()), encoding="utf-8")
