"""Shapes, types and folders of variants, as users write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.bench.suite.request import DTYPES, SHAPES, parse_dtypes, parse_shapes, variant_files
from rocm_perf.errors import InputError, UsageError


def test_a_shape_is_one_side_or_three() -> None:
    assert parse_shapes("4096, 32x8192x128,4096") == ((4096, 4096, 4096), (32, 8192, 128))
    assert len(parse_shapes(SHAPES)) == 4


@pytest.mark.parametrize("text", ["", "0", "4096x4096", "1x2x3x4", "-1", "1e3", "999999999", "²", "4096,"])
def test_what_is_not_a_shape_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a shape\. Write 4096, or MxNxK"):
        parse_shapes(text)


def test_types_are_those_of_the_catalogue() -> None:
    assert parse_dtypes("bf16, f16") == ("bf16", "f16")
    with pytest.raises(UsageError, match=r"unknown type 'fp16'\. Choose from f16, bf16"):
        parse_dtypes("fp16")


def test_a_users_variants_come_after_the_packaged_ones(tmp_path: Path) -> None:
    own, named = tmp_path / "config" / "rocm-perf" / "suite" / "wmma", tmp_path / "named"
    for folder in (own, named):
        folder.mkdir(parents=True)
        (folder / "mine.py").write_text("")
        (folder / "_helper.py").write_text("")
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    packaged = variant_files((), {"XDG_CONFIG_HOME": str(tmp_path / "nothing")})
    assert [file.stem for file in packaged] == [
        "blas",
        "blaslt",
        "matrix_units",
        "torch_matmul",
        "triton_matmul",
    ]
    assert variant_files([named], environment) == (*packaged, own / "mine.py", named / "mine.py")
    with pytest.raises(InputError, match="there is no folder"):
        variant_files([tmp_path / "absent"])


def test_packaged_variants_declare_types_that_exist() -> None:
    for file in variant_files((), {"XDG_CONFIG_HOME": "/nowhere"}):
        (line,) = (line for line in file.read_text().splitlines() if line.startswith("DTYPES"))
        declared = eval(line.partition("=")[2])
        assert set(declared) <= set(DTYPES), file
