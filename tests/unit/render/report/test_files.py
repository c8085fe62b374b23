"""The four files of an analysis against their JSON Schemas, which are made from the types and kept up to date."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from rocm_perf.analysis.overview import overview
from rocm_perf.model.document import Document
from rocm_perf.render.json import encode
from rocm_perf.render.report.file_types import FILES
from rocm_perf.render.report.files import files
from rocm_perf.render.report.schema import DESCRIBED, schema
from tests.recordings import answer, sampled
from tests.unit.analysis.traces import call, kernel, trace
from tests.unit.render.documents import H200, SPECIMENS, WORKLOADS, recorded, simulated

SCHEMAS = resources.files("rocm_perf.render.report") / "schemas"


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    text = (SCHEMAS / f"{name}.schema.json").read_text()
    return jsonschema.Draft202012Validator(json.loads(text))


def written(document: Document) -> dict[str, Any]:
    return {name: json.loads(encode(content)) for name, content in files(document).items()}


def check(document: Document) -> None:
    for name, content in written(document).items():
        validator(name).validate(content)


@pytest.mark.parametrize("name", DESCRIBED)
def test_schemas_are_valid_and_up_to_date(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))
    shipped = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    assert shipped == schema(name), "run scripts/make_schemas.py"


@pytest.mark.parametrize("name", WORKLOADS)
def test_files_of_simulated_runs(name: str) -> None:
    check(simulated(name))


@pytest.mark.parametrize("name", sampled(H200))
@pytest.mark.whole
def test_files_of_recordings(name: str) -> None:
    check(recorded(name))


@pytest.mark.thorough
@pytest.mark.parametrize("name", SPECIMENS)
def test_files_of_specimens(specimens: Path, name: str) -> None:
    check(answer(specimens / name))


def test_files_of_an_empty_recording() -> None:
    check(overview(trace(), "empty"))


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("analysis", lambda content: content.pop("findings")),
        ("analysis", lambda content: content.update(surprise=1)),
        ("analysis", lambda content: content["kernels"][0].pop("bottleneck")),
        ("analysis", lambda content: content["kernels"][0].update(critical_path_score=1.5)),
        ("analysis", lambda content: content["kernels"][0].update(time_ms=None)),
        ("dag", lambda content: content["kernels"][0].update(slack_ns=-1)),
        ("dag", lambda content: content["edges"][0].update(count="many")),
        ("roofline", lambda content: content.pop("gpus")),
        ("profile", lambda content: content.update(schema_version=0)),
        ("profile", lambda content: content["devices"][0]["busy"].update(value="x")),
    ],
)
def test_a_damaged_file_is_refused(file: str, damage: Any) -> None:
    content = written(simulated("sync_in_loop"))[file]
    damage(content)
    assert not validator(file).is_valid(content)


def test_kernels_have_the_fields_that_guides_show() -> None:
    content = written(recorded("eager_sync.json.gz"))
    wanted = "kernel time_ms calls operational_intensity roofline_position critical_path_score bottleneck"
    for row in content["analysis"]["kernels"]:
        assert set(wanted.split()) <= set(row)
        nulls = {name for name in row["unknown"] if row[name] is None}
        assert nulls == set(row["unknown"])
        known = {name for name in wanted.split()[3:] if row[name] is not None}
        assert known <= set(row["provenance"])
        assert not set(row["provenance"]) & set(row["unknown"])
    assert any(row["operational_intensity"] for row in content["analysis"]["kernels"])


def test_the_dag_agrees_with_the_document() -> None:
    document = simulated("sync_in_loop")
    dag = written(document)["dag"]
    assert dag["critical_path_ns"] == document.path.total_ns == dag["wall_ns"]
    assert dag["kernels"][0]["slack_ns"] == 0
    assert dag["kernels"][0]["impact"] == pytest.approx(0.0105, abs=1e-4)
    assert {edge["kind"] for edge in dag["edges"]} >= {"program", "launch", "stream", "sync"}


def test_kernels_grouped_by_short_name_say_what_is_lost() -> None:
    launched = [call("hipLaunchKernel", 0, 5, 1)]
    recording = trace(dispatches=[kernel("void k<float>(int)", 10, 20, correlation_id=1)], api_calls=launched)
    (row,) = written(overview(recording, "x", "short"))["analysis"]["kernels"]
    assert row["critical_path_score"] is None
    assert "short names" in row["unknown"]["critical_path_score"]


def test_every_result_of_a_document_is_in_a_file() -> None:
    fields = {name for file in FILES.values() for name in file.__struct_fields__}
    elsewhere = {"path", "roofline", "hotspots"}  # dag.json, roofline.json, kernels of analysis.json
    assert set(Document.__struct_fields__) - fields == elsewhere
    assert msgspec.json.decode(encode(files(simulated("slivers"))["dag"]))
