"""Where measured ceilings are kept, and which of them are used."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec
import pytest

from rocm_perf import api
from rocm_perf.bench.ceilings.store import VARIABLE, ceilings_folder, chosen, read, save
from rocm_perf.errors import InputError
from rocm_perf.model.machine_ceilings import MeasuredGpu
from tests.unit.analysis.traces import trace
from tests.unit.bench.ceilings.measured import measured, rate

COPY = measured(rate("memory copy", 4.0, 4.1))
AGENT = {"agent_id": 0, "kind": "GPU", "gfx": "gfx942", "name": "AMD Instinct MI300X", "cu_count": 304}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_each_gpu_has_a_file_that_a_new_measurement_replaces(cache: Path) -> None:
    save(COPY)
    other = msgspec.structs.replace(COPY, gpu=msgspec.structs.replace(COPY.gpu, uuid="8000-2"))
    save(other)
    path = save(msgspec.structs.replace(COPY, date="2026-12-01T00:00:00Z"))
    assert path == cache / "rocm-perf" / "ceilings" / "8000-1.json"
    assert [one.date[:10] for one in chosen()] == ["2026-12-01", "2026-11-16"]


def test_a_gpu_without_a_number_is_that_of_its_host() -> None:
    gpu = MeasuredGpu(name="AMD Radeon(TM) 8060S", gfx="gfx1151")
    assert save(msgspec.structs.replace(COPY, gpu=gpu)).name == "node7-AMD-Radeon-TM-8060S.json"


def test_this_machine_is_called_so_and_another_by_its_name(tmp_path: Path) -> None:
    assert read(save(COPY)).where_and_when == "node7 on 2026-11-16"
    here = msgspec.structs.replace(COPY, host=socket.gethostname())
    assert read(save(here, tmp_path / "here.json")).where_and_when == "this machine on 2026-11-16"


def test_nothing_is_used_where_nothing_was_measured_or_none_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert chosen() == ()
    save(COPY)
    assert chosen("none") == ()
    monkeypatch.setenv(VARIABLE, "none")
    assert chosen() == ()


def test_a_file_that_is_named_is_used_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(COPY)
    file = save(measured(rate("memory copy", 3.0)), tmp_path / "other.json")
    monkeypatch.setenv(VARIABLE, str(file))
    for choice in (str(file), None):
        (one,) = chosen(choice)
        assert one.rates[0].value == 3.0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"gpu": 1}', "null"])
def test_a_file_that_is_something_else_is_refused_if_named_and_passed_over_if_not(text: str) -> None:
    file = ceilings_folder() / "x.json"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert chosen() == ()
    with pytest.raises(InputError, match="is not a file of `rocm-perf ceilings`"):
        chosen(str(file))


def test_a_file_of_another_release_or_with_impossible_rates_is_refused(tmp_path: Path) -> None:
    file = save(COPY, tmp_path / "x.json")
    text = file.read_text()
    file.write_text(text.replace('"schema_version": 1', '"schema_version": 9'))
    with pytest.raises(InputError, match="schema_version is 9"):
        read(file)
    file.write_text(text.replace("4.1", "-4.1"))
    with pytest.raises(InputError, match="positive number"):
        read(file)
    with pytest.raises(InputError, match="cannot read"):
        read(tmp_path / "absent.json")


def test_the_api_hands_them_to_the_analyses(tmp_path: Path) -> None:
    dispatch = {"kernel": "k", "dispatch_id": 1, "agent_id": 0, "pid": 1, "start_ns": 0, "end_ns": 1000}
    recording = trace(agents=[AGENT], dispatches=[dispatch])
    file = save(measured(rate("memory copy", 3.0)), tmp_path / "other.json")
    save(COPY)

    def bandwidth(**more: str | Path) -> float | int | None:
        (gpu,) = api.analyze(recording, **more).roofline.gpus  # type: ignore[arg-type]
        return next(row.rate.value for row in gpu.ceilings if row.name == "HBM")

    assert bandwidth() == pytest.approx(4.05)
    assert bandwidth(ceilings=file) == 3.0
    assert bandwidth(ceilings="none") == 5.3
