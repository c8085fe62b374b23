"""The programs of tests/gpu/pairs against a stand-in for torch that takes every call: what torch itself would say is
known on a GPU only."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError
from functools import partial
from pathlib import Path
from unittest.mock import MagicMock, call

import pytest

from tests.gpu.pairs import measure
from tests.gpu.pairs.catalogue import PAIRS, pair_named
from tests.gpu.pairs.device import Cuda
from tests.gpu.pairs.loop import started, us_per_step
from tests.gpu.pairs.pair import Pair, Program

pytestmark = pytest.mark.thorough  # scripts for a machine with a GPU: slow, and seldom changed

STEPS = 10
BOTH = pytest.mark.parametrize("after", [False, True], ids=["before", "after"])


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    fake, tensor = MagicMock(), MagicMock()
    tensor.__mul__.return_value = tensor
    tensor.unbind.return_value = [tensor] * 64
    for maker in ("randn", "rand", "empty", "empty_like", "zeros"):
        getattr(fake, maker).return_value = tensor
    monkeypatch.setitem(sys.modules, "torch", fake)
    fake.linalg.vector_norm.return_value = 0.0
    monkeypatch.setattr(Cuda, "rest", lambda _: None)
    for name in ("nn", "linalg"):
        monkeypatch.setitem(sys.modules, f"torch.{name}", getattr(fake, name))
    return fake


def ready(name: str, after: bool, torch: MagicMock) -> Program:
    """A variant that is set up, its calls forgotten."""
    program = started(partial(pair_named(name).make, after), Cuda())
    torch.reset_mock()
    return program


@BOTH
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_every_program_runs(pair: Pair, after: bool, torch: MagicMock) -> None:
    device = Cuda()
    program = started(partial(pair.make, after), device)
    torch.manual_seed.assert_called_once_with(0)
    assert us_per_step(program, STEPS, device) > 0
    assert torch.cuda.nvtx.range.mock_calls[0] == call("loop")
    assert program.result is None or device.same(program.result(), program.result())
    assert program.kernels is None or device.alone_us(program.kernels) > 0
    device.release()


def test_all_of_it_from_the_command_line(
    torch: MagicMock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.cuda.get_device_name.return_value, torch.__version__ = "H200", "2.11"
    monkeypatch.setattr(sys, "argv", ["measure.py", str(tmp_path), "idle_sync"])
    monkeypatch.setattr(measure, "launched", lambda _: "{}")
    measure.main()
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert [(row["pair"], row["part"]) for row in rows] == [
        ("", "machine"),
        ("idle_sync", "truth"),
        ("idle_sync", "cupti"),
        ("idle_sync", "torch"),
    ]
    assert rows[0]["gpu"] == "H200"


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_changes_of_kernels_say_which_kernels(pair: Pair, torch: MagicMock) -> None:
    of_kernels = pair.remedy.action in ("faster", "fuse")
    assert (
        (started(partial(pair.make, False), Cuda()).kernels is not None)
        == of_kernels
        == bool(pair.remedy.kernels)
    )


@pytest.mark.parametrize("name", ["operators_graph", "decode_graph"])
def test_a_graph_is_replayed_once_a_step(name: str, torch: MagicMock) -> None:
    program = ready(name, after=True, torch=torch)
    us_per_step(program, STEPS, Cuda())
    assert torch.cuda.CUDAGraph.return_value.replay.call_count == STEPS
    torch.nn.functional.layer_norm.assert_not_called()


def test_180_operators_are_180(torch: MagicMock) -> None:
    ready("operators_graph", after=False, torch=torch).step(0)
    assert torch.nn.functional.layer_norm.call_count == 30


@BOTH
def test_synchronisations_between_products(torch: MagicMock, after: bool) -> None:
    ready("products_sync", after, torch).step(0)
    assert torch.mm.call_count == 2
    assert torch.cuda.synchronize.call_count == (0 if after else 2)


@BOTH
def test_a_result_is_read_back_and_waited_for_each_step(torch: MagicMock, after: bool) -> None:
    program = ready("read_back", after, torch)
    for number in range(20):
        program.step(number)
    copies = torch.empty.return_value.copy_.mock_calls
    assert len(copies) == 20
    assert all(one.kwargs == ({"non_blocking": True} if after else {}) for one in copies)
    assert torch.cuda.Event.return_value.synchronize.call_count == (20 if after else 0)


@BOTH
def test_a_batch_is_one_product(torch: MagicMock, after: bool) -> None:
    ready("products_batched", after, torch).step(0)
    assert (torch.mm.call_count, torch.bmm.call_count) == ((0, 1) if after else (64, 0))


def test_names_are_unique_and_known() -> None:
    names = [pair.name for pair in PAIRS]
    assert len(set(names)) == len(names) == 17
    with pytest.raises(ArgumentTypeError, match="no pair is named 'none'; there are product_half, "):
        pair_named("none")
