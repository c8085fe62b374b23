"""Which characters a drawing is made of: Unicode where it can be shown, ASCII elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rocm_perf.model.results.ledger import EntryKind
from rocm_perf.model.results.phases import PhaseName
from rocm_perf.render.rank_cells import State

Dot = tuple[int, int]  # within a cell: column from the left, row from the bottom

# The bits of a Braille character: Unicode Standard, chapter 21.1.
_BRAILLE_BITS: Mapping[Dot, int] = {
    (0, 3): 0x01,
    (0, 2): 0x02,
    (0, 1): 0x04,
    (1, 3): 0x08,
    (1, 2): 0x10,
    (1, 1): 0x20,
    (0, 0): 0x40,
    (1, 0): 0x80,
}


@dataclass(frozen=True, kw_only=True)
class Characters:
    """One set of characters. A cell holds `dots` columns and rows of dots, and `cells` has a character for each
    sum of their bits."""

    dots: tuple[int, int]
    bits: Mapping[Dot, int]
    cells: str
    phases: Mapping[PhaseName, str]
    ranks: Mapping[State, str]
    levels: str  # of a heat map, from nothing to the most
    use: Mapping[str, str]  # the parts of a bar in use_bars.py
    time: Mapping[EntryKind, str]  # the parts of the judged time
    step_end: str  # the last cell of a step
    point: str  # a kernel without a letter
    upright: str  # the left axis

    def cell(self, dots: Collection[Dot]) -> str:
        """The character with these dots."""
        return self.cells[sum(self.bits[dot] for dot in dots)]


UNICODE = Characters(
    dots=(2, 4),
    bits=_BRAILLE_BITS,
    cells=" " + "".join(chr(0x2800 + bits) for bits in range(1, 256)),
    phases={"before": "░", "start-up": "▒", "steady": "█", "work": "█", "end": "▓"},
    ranks={"computing": "█", "waiting": "░", "communicating": "▓", "idle": "·"},
    levels=" ░▒▓█",
    use={"useful": "█", "wasted": "░", "busy": "▒", "waiting": "▓"},
    time={"kernel": "█", "communication": "▓", "copy": "▒", "fill": "▒", "idle": "░"},
    step_end="▉",
    point="•",
    upright="│",
)
ASCII = Characters(
    dots=(1, 2),
    bits={(0, 0): 1, (0, 1): 2},
    cells=" .':",
    phases={"before": ".", "start-up": ":", "steady": "=", "work": "=", "end": "-"},
    ranks={"computing": "#", "waiting": "-", "communicating": "=", "idle": "."},
    levels=" .:=#",
    use={"useful": "#", "wasted": "-", "busy": "=", "waiting": "*"},
    time={"kernel": "#", "communication": "=", "copy": ":", "fill": ":", "idle": "."},
    step_end="|",
    point="+",
    upright="|",
)
