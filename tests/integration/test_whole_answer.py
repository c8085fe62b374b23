"""The whole answer about what was recorded on a real H200."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recordings import answer
from tests.whole_answer import check_answer

DATA = Path(__file__).parents[1] / "data" / "h200"


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.json.gz")), ids=lambda path: path.name)
def test_nothing_exceeds_itself(path: Path) -> None:
    check_answer(answer(path))
