"""The whole answer about what was recorded on a real H200."""

from __future__ import annotations

import pytest

from tests.recordings import sampled
from tests.unit.render.documents import H200, recorded
from tests.whole_answer import check_answer


@pytest.mark.parametrize("name", sampled(H200))
def test_nothing_exceeds_itself(name: str) -> None:
    check_answer(recorded(name))
