"""Input files with counters: text, JSON, and the YAML that such files use."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.collect.request.counter_files import InputFile, read_input_file, split_names
from rocm_perf.collect.request.yaml_text import LONGEST, read_yaml
from rocm_perf.errors import InputError

YAML = """
# two passes
jobs:
  - pmc: ["SQ_WAVES", GRBM_COUNT]   # of the first
    kernel_include_regex: ".*gemm.*"
    kernel_trace: true
  -
    pmc:
      - TCC_HIT_sum
      - TCC_MISS_sum
    kernel_include_regex: '.*gemm.*'
    kernel_trace: True
"""


def read(tmp_path: Path, name: str, text: str) -> InputFile:
    path = tmp_path / name
    path.write_text(text)
    return read_input_file(path)


def test_text(tmp_path: Path) -> None:
    found = read(
        tmp_path, "a.txt", "# comment\npmc: SQ_WAVES, GRBM_COUNT # more\n\npmc : TCC_HIT_sum\ngpu: 0\n"
    )
    assert found.passes == (("SQ_WAVES", "GRBM_COUNT"), ("TCC_HIT_sum",))
    assert read(tmp_path, "b.txt", "SQ_WAVES\nGRBM_COUNT\n").passes == (("SQ_WAVES", "GRBM_COUNT"),)


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    found = read(tmp_path, "a.yaml", YAML)
    assert found.passes == (("SQ_WAVES", "GRBM_COUNT"), ("TCC_HIT_sum", "TCC_MISS_sum"))
    assert found.options == {"kernel_include_regex": ".*gemm.*", "kernel_trace": True}
    import json

    assert read(tmp_path, "a.json", json.dumps(yaml.safe_load(YAML))) == found


SCALARS = st.sampled_from(["SQ_WAVES", ".*", "[1-2]x", "a b", "5", 7, True, False, "x#y"])
JOBS = st.lists(
    st.dictionaries(
        st.sampled_from(["kernel_include_regex", "stats", "collection_period"]),
        SCALARS | st.lists(st.sampled_from(["A", "B_sum", 3]), min_size=1, max_size=3),
    ).map(lambda options: {"pmc": ["SQ_WAVES"], **options}),
    min_size=1,
    max_size=1,
)


@given(JOBS)
def test_what_yaml_writes_is_read_alike(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("yaml")
    for style in (False, None):
        text = yaml.safe_dump({"jobs": jobs}, default_flow_style=style, sort_keys=False, width=1000)
        expected = {name: value for name, value in jobs[0].items() if name != "pmc"}
        assert read(folder, "a.yaml", text) == InputFile((("SQ_WAVES",),), expected)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.txt", "\n# nothing\n", "names no counters"),
        ("a.txt", "gpu: 0\n", "names no counters"),
        ("a.json", "{", "not valid JSON"),
        ("a.json", "[]", "has no jobs"),
        ("a.json", '{"jobs": [{"pmc": 5}]}', "pmc"),
        (
            "a.json",
            '{"jobs": [{"pmc": ["A"], "stats": true}, {"pmc": ["B"]}]}',
            "differs from the first in stats",
        ),
        ("a.yaml", "pmc: [A]\n", "has no jobs"),
        ("a.yaml", "jobs:\n", "has no jobs"),
        ("a.yaml", "jobs: [[A]]\n", r"jobs\[0\] has to be a mapping"),
        ("a.yaml", "jobs:\n  - pmc: {A: 1}\n", r"jobs\[0\] has to be a mapping .* as its pmc"),
        ("a.yaml", "jobs:\n  - {1: A}\n", r"jobs\[0\] has to be a mapping"),
        ("a.yaml", "jobs:\n  - pmc: [A\n", "line 3, is not valid YAML"),
        ("a.yaml", "jobs:\n  - pmc: [A]\n stats: true\n", "line 3, is not valid YAML"),
        ("a.yaml", "jobs:\n  - pmc: !!python/name:os.system\n", "line 2, is not valid YAML"),
        ("a.yaml", "jobs:\n  - &x {pmc: [A]}\n  - *x\n", "line 3, is not valid YAML: aliases are not read"),
        ("a.yaml", "jobs: &x [*x]\n", "aliases are not read"),
        ("a.yaml", "jobs:\n  - pmc: \x07\n", "is not valid YAML"),
        ("a.yaml", "[" * 5000, "is not valid YAML"),
        ("a.yaml", f"jobs: [{'9' * 5000}]", "."),
        ("a.yaml", "#" * (LONGEST + 1), "is too long for YAML"),
        ("a.xml", "<metric/>", "none of .txt"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(tmp_path, name, text)


def test_a_billion_laughs_are_refused_at_the_first_of_them() -> None:
    laughs = "".join(f"l{n + 1}: &l{n + 1} [{', '.join([f'*l{n}'] * 10)}]\n" for n in range(9))
    begin = time.process_time()
    with pytest.raises(InputError, match="line 2, is not valid YAML: aliases are not read here"):
        read_yaml("l0: &l0 ha\n" + laughs, "laughs")
    assert time.process_time() - begin < 5


def test_periods_and_days_stay_as_they_are_written() -> None:
    text = "{period: 5:1:1, day: 2024-01-01, real: 1.5, number: -7, yes: no, none: ~}"
    expected = {
        "period": "5:1:1",
        "day": "2024-01-01",
        "real": "1.5",
        "number": -7,
        True: False,
        "none": None,
    }
    assert read_yaml(text, "x") == expected


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_input_file(tmp_path / "none.txt")


@given(st.text())
def test_any_yaml_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text("jobs:\n  - pmc: [A]\n" + text)
    try:
        read_input_file(path)
    except InputError:
        return


def test_names_by_blanks_and_commas() -> None:
    assert split_names(["A,B", " C  D,", ""]) == ("A", "B", "C", "D")
