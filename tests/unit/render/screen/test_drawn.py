"""Drawings on the screen: where there is a terminal that is wide enough, and nowhere else."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from rocm_perf.model.document import Document
from rocm_perf.render.drawings.characters import ASCII, UNICODE, Characters
from rocm_perf.render.screen.drawn import characters_of
from rocm_perf.render.screen.terminal import print_document, print_sections
from rocm_perf.render.screen.view import View
from tests.recordings import sampled
from tests.unit.render.documents import H200, recorded, simulated
from tests.whole_answer import fits

GELU = "pairs/gelu_fused.pt.trace.json.gz"
BRAILLE = range(0x2801, 0x2900)


class Screen(io.StringIO):
    """A file with an encoding of its own."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


def shown(document: Document, width: int, characters: Characters | None = UNICODE, *names: str) -> str:
    console = Console(file=Screen(), width=width, force_terminal=True, color_system=None, highlight=False)
    view = View(width=width, characters=characters)
    if names:
        print_sections(document, names, console, view)
    else:
        print_document(document, console, view)
    assert isinstance(console.file, Screen)
    return console.file.getvalue()


def has_braille(text: str) -> bool:
    return any(ord(character) in BRAILLE for character in text)


@pytest.mark.parametrize(
    ("width", "bar", "roofline"),
    [(80, False, False), (100, True, False), (120, True, True), (160, True, True)],
)
def test_a_wide_terminal_has_drawings(width: int, bar: bool, roofline: bool) -> None:
    text = shown(recorded(GELU), width)
    assert ("   A elementwise kernels " in text) == bar
    assert ("███" in text) == bar
    assert ("Roofline  TFLOP/s over FLOP/B" in text) == roofline
    assert has_braille(text) == roofline
    assert len(text.splitlines()) <= 40
    assert all(fits(line, width) for line in text.splitlines())


def test_eighty_columns_are_as_they_were() -> None:
    assert shown(recorded(GELU), 80) == shown(recorded(GELU), 80, None)


@pytest.mark.parametrize("name", sampled(H200))
@pytest.mark.parametrize("width", [120, 160])
def test_recordings_with_drawings_fit(name: str, width: int) -> None:
    lines = shown(recorded(name), width).splitlines()
    assert len(lines) <= 40
    assert all(fits(line, width) for line in lines)
    sections = shown(recorded(name), width, UNICODE, "phases", "roofline").splitlines()
    assert all(len(line) <= width for line in sections)


def test_letters_stand_before_the_kernels_in_the_table() -> None:
    text = shown(recorded(GELU), 160)
    assert "HBM 100 %          a  vectorized_elementwise_kernel<MulFunctor, BinaryFunctor>" in text
    assert "tensor cores 82 %  c  nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT" in text


def test_names_stay_whole_where_the_drawing_can_be_narrower() -> None:
    text = shown(recorded("pairs/training_item.pt.trace.json.gz"), 160)
    assert "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT" in text.partition("Kernels  ")[2]


def test_sections_have_their_drawings_with_names() -> None:
    text = shown(recorded(GELU), 120, UNICODE, "phases", "roofline", "gaps")
    assert "███" in text
    assert has_braille(text)
    assert "a  14.9 ms  vectorized_elementwise_kernel<MulFunctor>" in text


def test_a_terminal_without_unicode_has_ascii() -> None:
    text = shown(recorded(GELU), 120, ASCII)
    assert "   A elementwise kernels " in text
    assert "##A##" in text
    assert ".:'" in text
    assert text.replace("…", "").isascii()


def test_what_has_no_roofline_has_none_drawn() -> None:
    text = shown(simulated("sync_in_loop"), 160)
    assert "███" in text
    assert "Roofline" not in text


def test_what_a_console_can_show(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert characters_of(Console(file=Screen())) is None
    assert characters_of(Console(file=Screen(), force_terminal=True)) is UNICODE
    assert characters_of(Console(file=Screen("ascii"), force_terminal=True)) is ASCII
    monkeypatch.setenv("TERM", "dumb")
    assert characters_of(Console(file=Screen(), force_terminal=True)) is None
