"""Recordings with a piece cut out or replaced, drawn by hypothesis."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import strategies as st


def damaged_file(factory: pytest.TempPathFactory, content: bytes, data: st.DataObject) -> Path:
    """A file of `content` in which a stretch, often all of the end, became a few other bytes."""
    start = data.draw(st.integers(0, len(content)))
    stop = data.draw(st.one_of(st.just(len(content)), st.integers(start, len(content))))
    file = factory.mktemp("damaged") / "file"
    file.write_bytes(content[:start] + data.draw(st.binary(max_size=12)) + content[stop:])
    return file
