"""The story of docs/count.md: a snapshot of a gfx1151 kernel, its roof, a changed kernel, and whether that is right."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rocm_perf.cli.main import main
from tests.amd_snapshots import transpose, write_snapshot
from tests.softgpu.counted import Shop

pytestmark = pytest.mark.softgpu


def test_from_a_colleagues_snapshot_to_a_kernel_that_is_still_right(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    before, padded, swizzled = (
        shop.compiler.compile("transpose", "gfx1151", *flags).path
        for flags in ((), ("-DTILE=17",), ("-DTILE=16", "-DSWIZZLE"))
    )
    folder = str(write_snapshot(shop.folder, transpose(2), before, "gfx1151").folder)

    def answer(*words: str) -> Any:
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    def findings(*words: str) -> list[str]:
        return [finding["id"] for finding in answer("count", folder, *words)["findings"]]

    first = answer("count", folder)
    assert first["roofline"]["bound"] == "memory"
    assert first["roofline"]["gpu"]["name"] == "AMD Radeon 8060S"
    assert findings() == ["uncoalesced"]
    assert findings("--hsaco", str(padded)) == [
        "bank-conflicts"
    ]  # 32 lanes span two rows, which meet in one bank
    assert findings("--hsaco", str(swizzled)) == []
    for code in (padded, swizzled):
        verdict = answer("replay", "verify", folder, "--emulate", "--hsaco", str(code))
        assert verdict["verdict"] == "same"
