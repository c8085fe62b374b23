"""What each tool answers, from a bundle on disk; and what lies outside of the folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rocm_perf.errors import InputError, RocmPerfError, UsageError
from rocm_perf.mcp_server.answers import Question, answer
from rocm_perf.mcp_server.bounded import DATA, Page
from rocm_perf.mcp_server.roots import allowed_path
from rocm_perf.model import bundle
from rocm_perf.model.trace import Trace
from rocm_perf.sim.workload import read_workload
from tests.sim.recorded import recorded
from tests.unit.mcp_server.test_bounded import HOSTILE

WORKLOADS = Path(__file__).parents[3] / "examples" / "workloads"


def write_hostile(folder: Path) -> None:
    """A bundle of which one kernel, and the command, have a name that means to be obeyed."""
    trace = recorded(read_workload(WORKLOADS / "sync_in_loop.toml"))
    renamed = pl.when(pl.col("kernel").str.contains("rms_norm")).then(pl.lit(HOSTILE)).otherwise("kernel")
    kernels = trace.table("dispatches").with_columns(kernel=renamed)
    tables = {name: kernels if name == "dispatches" else trace.table(name) for name in trace}
    bundle.write(Trace(tables, trace.run), folder)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recordings").resolve()
    write_hostile(folder / "run")
    (folder / "link").symlink_to("/etc")
    return folder


def asked(root: Path, tool: str, **words: Any) -> dict[str, Any]:
    question = Question(tool=tool, **{"recording": "run", **words})
    return answer(question, [root], timeout_s=300)


@pytest.mark.parametrize("tool", ["summary", "findings", "kernels", "gaps", "path", "roofline"])
def test_every_tool_answers_with_data(root: Path, tool: str) -> None:
    told = asked(root, tool)
    assert told["data"] == DATA
    text = json.dumps(told, ensure_ascii=False)
    assert text.isprintable()  # no line break, no escape, no mark of direction
    if tool != "summary":
        assert told["rows"]


def test_the_summary_is_that_of_analyze(root: Path) -> None:
    told = asked(root, "summary")
    assert told["steps"] == 60
    assert "the host's waiting is the limit" in str(told["headline"])


def test_lists_come_in_pages(root: Path) -> None:
    first = asked(root, "kernels", page=Page(limit=2))
    rest = asked(root, "kernels", page=Page(offset=2, limit=200))
    assert first["next_offset"] == 2
    assert "next_offset" not in rest
    names = [row["kernel"] for told in (first, rest) for row in told["rows"]]
    assert len(set(names)) == first["total"] == 6


def test_recordings_are_listed_as_they_can_be_asked_for(root: Path) -> None:
    (run,) = asked(root, "recordings")["rows"]
    assert (run["recording"], run["error"]) == ("run", None)


def test_a_recording_against_itself_is_unchanged(root: Path) -> None:
    told = asked(root, "compare", other="run")
    assert told["wall"]["ratio"] == 1


@pytest.mark.launches
def test_a_query_is_guarded(root: Path) -> None:
    told = asked(root, "query", sql="SELECT count(*) AS n FROM dispatches")
    assert told["rows"] == [[360]]
    with pytest.raises(UsageError, match="reads more than the recording"):
        asked(root, "query", sql="SELECT * FROM read_csv('/etc/passwd')")
    with pytest.raises(UsageError, match="the query failed"):
        asked(root, "query", sql="DROP TABLE dispatches; SELECT")


@pytest.mark.parametrize("name", ["/etc/passwd", "../..", "link/passwd", "link", "", "nowhere", "run\0", "~"])
def test_nothing_outside_of_the_folders_is_read(root: Path, name: str) -> None:
    if not name:
        assert allowed_path(name, [root]) == root
        return
    with pytest.raises(InputError, match="not one of the recordings here"):
        allowed_path(name, [root])


def test_a_changed_recording_is_read_again(tmp_path: Path) -> None:
    trace = recorded(read_workload(WORKLOADS / "softmax.toml"))
    bundle.write(trace, tmp_path / "run")
    before = asked(tmp_path.resolve(), "summary")
    few = Trace(
        {**{name: trace.table(name) for name in trace}, "dispatches": trace.table("dispatches").head(3)}
    )
    bundle.write(few, tmp_path / "run", overwrite=True)
    after = asked(tmp_path.resolve(), "summary")
    assert before["dispatches"] != after["dispatches"] == 3


def test_what_is_no_recording_says_so(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(RocmPerfError):
        asked(tmp_path.resolve(), "summary", recording="notes.txt")
