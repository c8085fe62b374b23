"""Verifying and comparing code objects without a GPU: what is right is called so, and what is wrong is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.cli.main import main
from tests.amd_snapshots import (
    Launched,
    bank_conflict,
    block_sum,
    contended,
    divergent,
    endless,
    indexed,
    matmul,
    saxpy,
    stencil,
    strided_load,
    wild,
)
from tests.softgpu.counted import UNFUSED, Shop

pytestmark = pytest.mark.softgpu

LAUNCHES = {
    launched.kernel: launched
    for launched in (saxpy(1 << 14), stencil(16), block_sum(1 << 12), matmul(2), strided_load(), bank_conflict(),
                     divergent(), contended(), indexed())
}  # fmt: skip


def answer(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> Any:
    got = main(["replay", *words, "--emulate", "--json"])
    captured = capsys.readouterr()
    assert got == status, (captured.out, captured.err)
    return json.loads(captured.out)


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status, error = main(list(words)), capsys.readouterr().err
    assert error.count("\n") == 1
    return status, error


@pytest.mark.parametrize("gfx", ["gfx942", "gfx1151"])
@pytest.mark.parametrize("kernel", LAUNCHES)
def test_a_replay_gives_the_captured_result(
    shop: Shop, capsys: pytest.CaptureFixture[str], kernel: str, gfx: str
) -> None:
    snapshot = shop.snapshot(LAUNCHES[kernel], gfx)
    verdict = answer(capsys, "verify", str(snapshot.folder))
    assert verdict["verdict"] == "same"
    assert verdict["device"] == f"emulated, {gfx}"
    outcomes = [control["outcome"] for control in verdict["controls"]]
    assert len(outcomes) == 3
    assert set(outcomes) <= {"failed as it must", "inconclusive"}
    assert outcomes[:2] == ["failed as it must"] * 2


@pytest.mark.parametrize("gfx", ["gfx942", "gfx1151"])
def test_a_changed_kernel_is_told_from_a_wrong_one(
    shop: Shop, capsys: pytest.CaptureFixture[str], gfx: str
) -> None:
    changed = str(shop.compiler.compile("changed", gfx, UNFUSED).path)
    right = shop.snapshot(stencil(16), gfx)
    assert answer(capsys, "verify", str(right.folder), "--hsaco", changed)["verdict"] == "same"
    alike = answer(capsys, "compare", str(right.folder), "--hsaco", changed)
    assert alike["verdict"] == "same"
    assert alike["reason"] == "the new code gives what A leaves"


@pytest.mark.parametrize("gfx", ["gfx942", "gfx1151"])
def test_a_wrong_kernel_is_different(shop: Shop, capsys: pytest.CaptureFixture[str], gfx: str) -> None:
    changed = str(shop.compiler.compile("changed", gfx, UNFUSED).path)
    wrong = str(shop.snapshot(matmul(2), gfx).folder)
    verdict = answer(capsys, "verify", wrong, "--hsaco", changed, status=1)
    assert (verdict["verdict"], verdict["captured"]["verdict"]) == ("different", "same")
    assert answer(capsys, "compare", wrong, "--hsaco", changed, status=1)["verdict"] == "different"


def test_a_tampered_result_is_noticed(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """The state after the kernel is not what it computes: then a replay must not be called the same."""
    honest = saxpy(1 << 14)
    result = honest.after[1].copy()
    result[1000] += 1
    lied = Launched(
        honest.kernel, honest.before, (honest.after[0], result), honest.groups, scalars=honest.scalars
    )
    verdict = answer(capsys, "verify", str(shop.snapshot(lied, "gfx1151").folder), status=1)
    assert verdict["verdict"] == "different"
    assert verdict["captured"]["differing_bytes"] > 0


@pytest.mark.parametrize("verb", [("replay", "verify", "--emulate"), ("count",)])
def test_an_access_outside_of_memory_is_named(
    shop: Shop, capsys: pytest.CaptureFixture[str], verb: tuple[str, ...]
) -> None:
    status, error = refusal(capsys, *verb, str(shop.snapshot(wild(), "gfx1151").folder))
    assert status == 24
    assert "s_load_b32" in error
    assert f"0x{0x7F0000000000 + 4 * (1 << 40):x}" in error


@pytest.mark.parametrize("verb", [("replay", "verify", "--emulate"), ("count",)])
def test_an_endless_loop_is_ended(
    shop: Shop, capsys: pytest.CaptureFixture[str], verb: tuple[str, ...]
) -> None:
    folder = str(shop.snapshot(endless(), "gfx1151").folder)
    status, error = refusal(capsys, *verb, folder, "--timeout", "0.5")
    assert status == 23
    assert "did not end within 0.5 s" in error
    assert "--timeout S" in error


def test_code_for_another_chip_and_truncated_code_are_refused(
    shop: Shop, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = str(shop.snapshot(saxpy(1 << 14), "gfx1151").folder)
    other = str(shop.code("saxpy", "gfx942"))
    for verb in (("replay", "verify", "--emulate"), ("count",)):
        status, error = refusal(capsys, *verb, folder, "--hsaco", other)
        assert (status, "gfx942" in error) == (21, True)
        short = tmp_path / "short.hsaco"
        short.write_bytes(Path(shop.code("saxpy", "gfx1151")).read_bytes()[:2000])
        assert refusal(capsys, *verb, folder, "--hsaco", str(short))[0] == 6
