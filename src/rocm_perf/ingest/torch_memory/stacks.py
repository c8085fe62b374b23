"""Call stacks, each kept once: every allocation of a loop comes with the same one. The number of a stack is made of its
text, so that snapshots of one run agree."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from sys import getsizeof
from typing import Any

import polars as pl

from rocm_perf.ingest.torch_memory.types import Frames

_MOST_FRAMES = 200  # of one stack, the innermost ones
_MOST_CHARACTERS = 1000  # of the name of one function: C++ templates have more
# Of the texts of all stacks together, as Python keeps them. 20,000 usual stacks take 80 MB; a small file can ask for a
# thousand times that, because stacks share their frames.
_MOST_BYTES = 128 << 20


class Stacks:
    """The distinct stacks that were seen; `left_out` counts those for which there was no room."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self.left_out = 0
        self._room_bytes = most_bytes
        self._numbers: dict[str, int] = {}
        self._known: dict[tuple[int, ...], int | None] = {}
        self._lines: dict[int, str] = {}
        self._kept: list[Frames] = []  # so that no id is used twice

    def number(self, frames: Frames) -> int | None:
        """The number of a stack; None for one without frames."""
        if not isinstance(frames, list):
            return None
        key = tuple(map(id, frames[:_MOST_FRAMES]))
        if key not in self._known:
            self._kept.append(frames)
            self._known[key] = self._new(frames[:_MOST_FRAMES])
        return self._known[key]

    def frame(self) -> pl.DataFrame:
        """The table of stacks."""
        return pl.DataFrame(
            {"stack_id": list(self._numbers.values()), "frames": list(self._numbers)},
            schema={"stack_id": pl.Int64, "frames": pl.String},
        )

    def _new(self, frames: list[Any]) -> int | None:
        if self._room_bytes > 0:
            text = "\n".join(filter(None, map(self._line, frames)))
            if text in self._numbers:
                return self._numbers[text]
            self._room_bytes -= getsizeof(text)
            if self._room_bytes > 0:
                return self._numbers.setdefault(text, _number(text)) if text else None
        self.left_out += 1
        return None

    def _line(self, frame: Any) -> str:
        if id(frame) not in self._lines:
            line = _described(frame) if isinstance(frame, Mapping) else ""
            self._lines[id(frame)] = line
            self._room_bytes -= getsizeof(line)
        return self._lines[id(frame)]


def _number(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest()
    return int.from_bytes(digest, "little")


def _described(frame: Mapping[str, Any]) -> str:
    """As torch.profiler writes a frame: `file.py(12): function`; of C++ the function alone."""
    function, path = (_one_line(frame.get(field)) for field in ("name", "filename"))
    line = frame.get("line")
    return f"{path}({line}): {function}" if path.endswith(".py") and isinstance(line, int) else function


def _one_line(value: Any) -> str:
    """A text without line breaks, as far as it is kept: what else a file holds there may be deep, or repeat itself."""
    return (
        " ".join(value[: 2 * _MOST_CHARACTERS].split())[:_MOST_CHARACTERS] if isinstance(value, str) else ""
    )
