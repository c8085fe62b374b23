"""Layers in made sequences of kernels, each written as a letter."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from random import Random

import pytest

from rocm_perf.analysis.layers import alikeness
from rocm_perf.analysis.layers.alikeness import Content, common_order
from rocm_perf.analysis.layers.repetition import MOST_KERNELS, stacks

LAYER = "nqkao" + "pNudx"


def found(text: str, weights: Sequence[float] | None = None) -> list[list[str]]:
    """The layers of each stack, as letters."""
    codes = tuple(map(ord, text))
    layers = stacks(codes, weights or [1.0] * len(text), frozenset({ord("a")}))
    return [["".join(map(chr, content)) for content in stack.contents(codes)] for stack in layers]


def test_a_prologue_and_an_epilogue_are_in_no_layer() -> None:
    assert found("EMB" + LAYER * 5 + "HS") == [[LAYER] * 5]


def test_twice_is_no_repetition() -> None:
    assert found("EMB" + LAYER * 2 + "HS") == []


def test_few_kernels_over_and_over_are_a_loop() -> None:
    assert found("abc" * 30) == []


def test_the_norm_behind_the_last_layer_makes_layers_equal_that_begin_behind_the_first() -> None:
    """A norm that also adds is launched behind every layer, and another one before the first."""
    fused = "qkaopMudxN"
    assert found("En" + fused * 6 + "HS") == [[fused] * 6]


def test_layers_begin_where_all_are_equal_though_no_mark_stands_there_alone() -> None:
    """Each of two parts of a layer is a norm, work, and an add."""
    layer = "nqaopd" + "nuxgpd"
    assert found(layer * 4) == [[layer] * 4]


def test_layers_may_take_turns() -> None:
    other = LAYER.replace("a", "bc")
    (layers,) = found("E" + (LAYER + other) * 4 + "H")
    assert layers == [LAYER, other] * 4


def test_a_first_layer_that_lacks_a_kernel_is_one() -> None:
    (layers,) = found("E" + LAYER.replace("k", "") + LAYER * 5 + "H")
    assert layers == [LAYER.replace("k", ""), *[LAYER] * 5]


def test_a_last_layer_that_lacks_a_kernel_is_one() -> None:
    (layers,) = found("E" + LAYER * 5 + LAYER.replace("u", "") + "H")
    assert layers == [*[LAYER] * 5, LAYER.replace("u", "")]


def test_a_last_layer_that_picks_some_rows_is_one() -> None:
    last = LAYER.replace("p", "PQ")
    assert found("E" + LAYER * 5 + last + "H") == [[*[LAYER] * 5, last]]


def test_a_loop_inside_of_layers_is_not_the_layer() -> None:
    experts = "nqkao" + "gudsx" * 8 + "r"
    assert found("E" + experts * 4 + "H") == [[experts] * 4]


def test_a_model_that_is_called_again_and_again_is_no_layer() -> None:
    assert found(("E" + LAYER * 4 + "THQ") * 5) == [[LAYER] * 4] * 5


def test_two_stacks_are_two() -> None:
    single = "ABCDFGIJ"
    assert found("E" + LAYER * 4 + "TV" + single * 6 + "H") == [[LAYER] * 4, [single] * 6]


def test_two_models_one_behind_the_other_do_not_run_into_each_other() -> None:
    between = "RSTUVWXYZ0123456789"
    assert found(LAYER * 3 + between + LAYER * 4) == [[LAYER] * 3, [LAYER] * 4]


def test_what_takes_no_time_is_no_stack() -> None:
    text = "abcdefgh" * 3 + "Z"
    assert found(text, [0.0001] * 24 + [1.0]) == []


def test_what_differs_from_every_other_is_no_layer() -> None:
    assert found("xABCDEF" + "xGHIJKL" + "xMNOPQR" + "xSTUVWY") == []


def test_a_step_is_too_long_for_a_layer() -> None:
    step = tuple(range(MOST_KERNELS + 1))
    assert stacks(step * 4, [1.0] * len(step) * 4) == []


def test_layers_that_differ_a_little_are_seldom_laid_beside_one_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What costs time is the order that two layers share: most ways to cut are ruled out by what is in them."""
    chance = Random(2)
    usual = [chance.randrange(200) for _ in range(60)]
    kinds = [[*usual[:place], 200 + place, *usual[place + 1 :]] for place in range(0, 50, 10)]
    codes = tuple(code for _ in range(24) for code in chance.choice(kinds))
    laid = 0

    def counted(one: Content, other: Content) -> SequenceMatcher[int]:
        nonlocal laid
        laid += 1
        return SequenceMatcher(None, one, other, autojunk=False)

    monkeypatch.setattr(alikeness, "_matcher", counted)
    (stack,) = stacks(codes, [1.0] * len(codes))
    assert stack.layers == 24
    assert laid < 1_500


@pytest.mark.parametrize("text", ["", "a", "aaaa", "abab"])
def test_short_sequences_have_no_layers(text: str) -> None:
    assert found(text) == []


def test_sequences_have_one_order_in_which_what_they_share_has_one_place() -> None:
    contents = [tuple(map(ord, text)) for text in ("ngaxo", "ngbcxo", "gaxo")]
    order, places = common_order(contents)
    assert sorted(map(chr, order)) == sorted("ngabcxo")
    for content, taken in zip(contents, places, strict=True):
        assert taken == sorted(taken)
        assert tuple(order[place] for place in taken) == content
    assert places[2] == places[0][1:]
