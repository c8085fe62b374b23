"""Writes docs/causes.md from the catalogue of causes: `python scripts/causes_page.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rocm_perf.analysis.limits.catalogue import CauseText, Owner, catalogue

PAGE = Path(__file__).parents[1] / "docs" / "causes.md"
_INTRO = """\
# Causes: why a kernel takes its time, and what to do

<!-- Written by scripts/causes_page.py from src/rocm_perf/analysis/limits/causes/*.toml: change those, then run it. -->

Every cause that `rocm-perf analyze` can name, by the word that `bottleneck` in `analysis.json` has for it. How causes
are found, and what their share, bound and certainty mean, is in [limits.md](limits.md). A remedy is written for whoever
can change the kernel.
"""
_OWNERS: dict[Owner, str] = {
    "native": "in HIP or CUDA",
    "triton": "in Triton",
    "torch": "through torch",
    "jax": "through JAX",
    "library": "through a library",
}


def page() -> str:
    """Return the text of the page."""
    causes = catalogue()
    labels = sorted({text.label for text in causes.values()})
    return "\n".join([_INTRO, *(line for label in labels for line in _of_label(label))]).rstrip() + "\n"


def _of_label(label: str) -> Iterator[str]:
    yield f"## {label[0].upper()}{label[1:]}"
    yield ""
    for name, text in sorted(catalogue().items()):
        if text.label == label:
            yield from _of_cause(name, text)


def _of_cause(name: str, text: CauseText) -> Iterator[str]:
    is_not = f" It is not {text.is_not}." if text.is_not else ""
    yield f"**{name.replace('-', ' ')}** (`{name}`).{is_not}"
    yield ""
    for owner, words in _OWNERS.items():
        if owner in text.remedy:
            yield f"- {words}: {text.remedy[owner]}"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page())
