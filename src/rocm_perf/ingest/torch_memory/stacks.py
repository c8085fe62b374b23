"""Call stacks, each kept once: every allocation of a loop comes with the same one. The number of a stack is made of its
text, so that snapshots of one run agree."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import polars as pl

from rocm_perf.ingest.torch_memory.types import Frames

_MOST_FRAMES = 200  # of one stack, the innermost ones
_MOST_CHARACTERS = 1000  # of the name of one function: C++ templates have more


class Stacks:
    """The distinct stacks that were seen."""

    def __init__(self) -> None:
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
            text = "\n".join(filter(None, map(self._line, frames[:_MOST_FRAMES])))
            self._known[key] = self._numbers.setdefault(text, _number(text)) if text else None
        return self._known[key]

    def frame(self) -> pl.DataFrame:
        """The table of stacks."""
        return pl.DataFrame(
            {"stack_id": list(self._numbers.values()), "frames": list(self._numbers)},
            schema={"stack_id": pl.Int64, "frames": pl.String},
        )

    def _line(self, frame: Any) -> str:
        if id(frame) not in self._lines:
            self._lines[id(frame)] = _described(frame) if isinstance(frame, Mapping) else ""
        return self._lines[id(frame)]


def _number(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest()
    return int.from_bytes(digest, "little")


def _described(frame: Mapping[str, Any]) -> str:
    """As torch.profiler writes a frame: `file.py(12): function`; of C++ the function alone."""
    name, file, line = (frame.get(field) for field in ("name", "filename", "line"))
    function = " ".join(str(name or "").split())[:_MOST_CHARACTERS]
    path = " ".join(str(file or "").split())[:_MOST_CHARACTERS]
    return f"{path}({line}): {function}" if path.endswith(".py") and isinstance(line, int) else function
