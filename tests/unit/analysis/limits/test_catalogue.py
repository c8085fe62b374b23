"""The catalogue of causes: complete, used, and on the page of the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts.causes_page import PAGE, page

from rocm_perf.analysis.limits.catalogue import catalogue, owners, remedy

LIMITS = Path(__file__).parents[4] / "src" / "rocm_perf" / "analysis" / "limits"
CODE = "\n".join(path.read_text() for path in sorted(LIMITS.glob("*.py")))


def test_the_page_of_causes_is_current() -> None:
    assert PAGE.read_text() == page(), "run: python scripts/causes_page.py"


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_cause_is_found_by_some_rule(name: str) -> None:
    assert f'"{name}"' in CODE


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_cause_has_a_remedy_for_any_kernel(name: str) -> None:
    for kernel in (
        "my_kernel",
        "triton_poi_fused_add_0",
        "Cijk_Alik_Bljk_BBS_BH_MT64x64x64",
        "at::native::copy",
    ):
        words = remedy(name, kernel)
        assert words.endswith(".")
        assert words[0].isupper() or words.startswith(("torch.", "-"))


def test_remedies_speak_of_tools_of_neither_vendor_alone() -> None:
    """A remedy is said on both vendors' GPUs: what it names of one stands beside the other's."""
    for name, text in catalogue().items():
        for words in text.remedy.values():
            assert not re.search(r"\bnvprof\b|\bnsys\b|\brocprof\b", words), name


def test_the_author_of_a_generated_kernel_is_whoever_called_the_compiler() -> None:
    assert owners("triton_poi_fused_add_0") == ("torch", "triton")
    assert owners("my_kernel") == ()
