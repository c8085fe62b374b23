"""What a kernel's name tells: its kind, what probably limits it, and what to do in every setting."""

from __future__ import annotations

import re

import pytest

from rocm_perf.analysis.remedies.setting import Setting
from rocm_perf.analysis.verdict.kernels.kinds import (
    KernelKind,
    action,
    actions,
    checked_kinds,
    guess,
    kind_of,
    kinds,
)
from rocm_perf.errors import InputError
from tests.unit.analysis.remedies.test_table import (
    MADE_OF,
    OF_AMD,
    OF_BOTH,
    OF_FRAMEWORKS,
    OF_NVIDIA,
    settings,
)

SETTINGS = {(one.vendor, one.frameworks, one.gpus): one for one in settings()}
# llama.cpp calls its switches so on ROCm as well; the tools of a library name the library, whatever the framework.
OF_ANY = re.compile(r"GGML_\w+|llama-\w+")
LONGEST = 220  # characters of a text, as in the table of remedies


def named(name: str) -> KernelKind:
    return next(kind for kind in kinds() if kind.name == name)


def told(kind: KernelKind) -> list[tuple[str, Setting]]:
    """Every text of a kind with a setting that leads to it, on the GPUs that its library exists for."""
    return [
        (action(kind, setting), setting)
        for setting in SETTINGS.values()
        if kind.vendor in (None, setting.vendor)
    ]


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_examples_are_of_their_kind(kind: KernelKind) -> None:
    assert [kind_of(example) for example in kind.examples] == [kind] * len(kind.examples)


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_no_action_has_words_of_the_other_vendor(kind: KernelKind) -> None:
    wrong = {
        text
        for text, setting in told(kind)
        if (OF_AMD if setting.nvidia else OF_NVIDIA).search(OF_BOTH.sub("", OF_ANY.sub("", text)))
    }
    assert wrong == set()


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_no_action_names_a_function_of_another_framework(kind: KernelKind) -> None:
    wrong = set()
    for text, setting in told(kind):
        # What the library of a kernel is part of, the program uses.
        own = {
            *setting.frameworks,
            *(one.lower() for one in kind.library),
            *(part for name in setting.frameworks for part in MADE_OF.get(name, ())),
        }
        wrong |= {
            (framework, setting.frameworks, text)
            for framework, pattern in OF_FRAMEWORKS.items()
            if framework not in own and re.search(pattern, OF_ANY.sub("", text))
        }
    assert wrong == set()


def test_no_action_asks_for_a_recording() -> None:
    texts = [row.text for rows in actions().values() for row in rows]
    assert [text for text in texts if re.search(r"\brecord (again|a|the)\b|rocm-perf", text)] == []
    assert [text for text in texts if not re.match("[A-Z]|cuDNN", text) or not text.endswith(".")] == []
    assert [text for text in texts if len(text) > LONGEST] == []


def test_every_action_belongs_to_a_kind() -> None:
    assert set(actions()) == {kind.name for kind in kinds() if not kind.remedy}


def test_what_the_library_chose_a_small_or_large_tile_for() -> None:
    product = named("product-tensile")
    large = guess(product, "Cijk_Alik_Bljk_BBS_BH_MT256x192x64_MI16x16x1", replayed=False)
    few = guess(product, "Cijk_Alik_Bljk_BBS_BH_MT16x256x64_MI16x16x1", replayed=False)
    between = guess(product, "Cijk_Alik_Bljk_BBS_BH_MT64x64x64_MI16x16x1", replayed=False)
    square = guess(product, "Cijk_Alik_Bljk_BBS_BH_MT16x16x32_MI16x16x1", replayed=False)
    assert large is not None
    assert large.limit == "arithmetic sets the pace"
    assert few is not None
    assert few.limit == "reading the larger operand sets the pace"
    assert between is square is None


def test_a_low_tile_of_experts_is_one_that_reads_weights() -> None:
    few = guess(named("experts"), "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", replayed=False)
    assert few is not None
    assert few.limit == "reading the weights of the experts sets the pace"


def test_weights_of_experts_are_said_to_set_the_pace_in_replays_only() -> None:
    """A prefill has thousands of tokens, and runs outside of graphs."""
    experts = named("experts")
    replayed = guess(experts, "fused_moe_kernel", replayed=True)
    assert replayed is not None
    assert replayed.limit == "reading the weights of the experts sets the pace"
    assert guess(experts, "fused_moe_kernel", replayed=False) is None


@pytest.mark.parametrize(
    "name", ["count_all", "taylor_base", "read_f4", "update", "my_kernel", "format_data"]
)
def test_a_name_that_tells_nothing_has_no_kind(name: str) -> None:
    assert kind_of(name) is None


ROW = '[[kind]]\nname = "sort"\ndoes = "a sort"\nexamples = []\n'


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (ROW.replace('"sort"', '"sorting"'), "has no remedy for sorting"),
        (ROW + 'limit = "memory sets the pace"\n', "belong together"),
        (ROW + 'family = ["sorts"]\n', "sorts"),
        (ROW + "colour = 1\n", "colour"),
    ],
)
def test_a_wrong_file_is_refused(rows: str, why: str) -> None:
    with pytest.raises(InputError) as refused:
        checked_kinds(rows.encode())
    assert why in f"{refused.value} {refused.value.args}"
