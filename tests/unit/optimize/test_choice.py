"""Which kernel is worth the work, on recordings with known truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.api import analyze, simulate
from rocm_perf.model.document import Document
from rocm_perf.optimize.choice import plain_name, prospects

WORKLOAD = """
name = "two kernels"
command = "app"

[kernel.long]
symbol = "void demo::long_one<float>(float*)"
bytes = {hbm = 3.2e8}
grid = [1048576]

[kernel.short]
symbol = "short_one(float*)"
bytes = {hbm = 8e7}
grid = [1048576]

[[thread]]
name = "main"
steps = [
  {repeat = 50, steps = [{launch = "long"}, {launch = "short"}]},
  {sync = "device"},
]
"""


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Document:
    path = tmp_path_factory.mktemp("choice") / "two.toml"
    path.write_text(WORKLOAD)
    return analyze(simulate(path))


def test_the_kernel_with_the_most_to_gain_comes_first(document: Document) -> None:
    best, second = prospects(document)
    assert (plain_name(best.kernel), plain_name(second.kernel)) == ("long_one", "short_one")
    assert best.share == pytest.approx(0.8, abs=0.05)
    assert best.best_case == pytest.approx(5.0, rel=0.15)  # only a fifth is left without it
    assert second.best_case == pytest.approx(1.25, rel=0.1)


def test_the_cause_is_told_in_words(tmp_path: Path) -> None:
    """A grid that leaves most of the GPU empty."""
    path = tmp_path / "tiny.toml"
    path.write_text(WORKLOAD.replace("grid = [1048576]", "grid = [512]").replace("3.2e8", "3.2e3"))
    (tiny,) = prospects(analyze(simulate(path)), ["long_one"])
    assert tiny.cause == "latency"
    assert "workgroups (median) for" in tiny.because
    assert "empty_units" not in tiny.because


def test_only_kernels_of_the_source_count(document: Document) -> None:
    assert [plain_name(one.kernel) for one in prospects(document, ["short_one", "absent"])] == ["short_one"]


@pytest.mark.parametrize(
    ("recorded", "plain"),
    [
        ("void ns::scale<float, 4>(float*, int)", "scale"),
        ("scaled_softmax(float const*, float*, float, int)", "scaled_softmax"),
        ("_Z5scalePfi", "scale"),
    ],
)
def test_names_as_the_source_has_them(recorded: str, plain: str) -> None:
    assert plain_name(recorded) == plain
