"""The script that calls one operator again: its text, and that it runs where torch is."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from rocm_perf.errors import UsageError
from rocm_perf.model.torch_call import OperatorCall, arguments
from rocm_perf.render import repro

F4, F2 = "float", "c10::BFloat16"

# name, shapes, types, strides, inputs: as torch.profiler writes them.
CALLS = {
    "mm": ("aten::mm", "[[4, 8], [8, 2]]", f'["{F4}", "{F4}"]', "[[8, 1], [1, 8]]", '["", ""]'),
    "addmm": (
        "aten::addmm",
        "[[2], [4, 8], [8, 2], [], []]",
        f'["{F2}", "{F2}", "{F2}", "Scalar", "Scalar"]',
        "[[1], [8, 1], [1, 8], [], []]",
        '["", "", "", "1", "1"]',
    ),
    "conv2d": (
        "aten::conv2d",
        "[[2, 4, 8, 8], [6, 4, 3, 3], [], [], [], [], []]",
        f'["{F4}", "{F4}", "", "ScalarList", "ScalarList", "ScalarList", "Scalar"]',
        "[[256, 64, 8, 1], [36, 9, 3, 1], [], [], [], [], []]",
        '["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "1"]',
    ),
    "layer_norm": (
        "aten::layer_norm",
        "[[2, 8], [], [8], [8], [], []]",
        f'["{F4}", "ScalarList", "{F4}", "{F4}", "Scalar", "Scalar"]',
        "[[8, 1], [], [1], [1], [], []]",
        '["", "[8]", "", "", "1.0000000000000001e-05", "True"]',
    ),
    "softmax": (
        "aten::softmax",
        "[[2, 8], [], []]",
        f'["{F2}", "Scalar", "Scalar"]',
        "[[8, 1], [], []]",
        '["", "-1", "6"]',
    ),
    "add, strided and expanded": (
        "aten::add",
        "[[4, 6], [4, 6], []]",
        f'["{F4}", "{F4}", "Scalar"]',
        "[[1, 4], [0, 1], []]",
        '["", "", "1"]',
    ),
    "add_ of a number": (
        "aten::add_",
        "[[], [], []]",
        '["long int", "long int", "Scalar"]',
        "[[], [], []]",
        '["", "", "1"]',
    ),
    "embedding": (
        "aten::embedding",
        "[[10, 4], [3, 5], [], [], []]",
        f'["{F4}", "long int", "Scalar", "Scalar", "Scalar"]',
        "[[4, 1], [5, 1], [], [], []]",
        '["", "", "-1", "False", "False"]',
    ),
    "cat": (
        "aten::cat",
        "[[[2, 3], [2, 5]], []]",
        '["TensorList", "Scalar"]',
        "[[[3, 1], [5, 1]], []]",
        '["", "-1"]',
    ),
    "_to_copy": (
        "aten::_to_copy",
        "[[4], [], [], [], [], [], []]",
        f'["{F4}", "Scalar", "", "", "", "Scalar", ""]',
        "[[1], [], [], [], [], [], []]",
        '["", "15", "", "", "", "False", ""]',
    ),
}


def call_of(name: str, shapes: str, dtypes: str, strides: str = "[]", inputs: str = "[]") -> OperatorCall:
    known = arguments(shapes, dtypes, strides, inputs)
    assert known is not None
    return OperatorCall(name, 7, known)


@pytest.mark.parametrize("case", CALLS)
def test_the_script_is_python_and_always_the_same(case: str) -> None:
    text = repro.script(call_of(*CALLS[case]))
    compile(text, case, "exec")
    assert text == repro.script(call_of(*CALLS[case]))
    assert f"OPERATOR = {CALLS[case][0]!r}" in text
    assert "rocm_perf" not in text


def test_shapes_strides_types_and_scalars_are_those_recorded() -> None:
    text = repro.script(call_of(*CALLS["addmm"]), iterations=5)
    assert "ITERATIONS = 5" in text
    assert "('tensor', (8, 2), (1, 8), 'bfloat16')" in text
    assert "('value', '1')" in text


def test_what_cannot_be_rebuilt_is_refused() -> None:
    with pytest.raises(UsageError, match="record_shapes=True"):
        repro.script(call_of("aten::_foreach_add_", "[[], []]", '["TensorList", "Scalar"]'))
    with pytest.raises(UsageError, match="not the name of a registered torch operator"):
        repro.script(call_of("triton_poi_fused_0", "[[4]]", '["float"]'))


@pytest.mark.parametrize("name", ["vllm::gemm", "_C::rms_norm", "aten::add.Tensor", "aten::__and__"])
def test_names_that_torch_registers_are_taken(name: str) -> None:
    text = repro.script(call_of(name, "[[4]]", '["float"]'))
    assert f"OPERATOR = {name!r}" in text
    assert ("must be imported" in text) == (not name.startswith("aten"))


@pytest.mark.parametrize(
    "name",
    [
        'aten::mm"""\nimport os; os.system("id")\n"""',
        'x"""\nraise SystemExit(3)\n"""::mm',
        "aten::mm\\",
        "aten::mm\n",
        "__builtins__::exec",
        "aten::m\u202em",
    ],
)
def test_a_name_that_is_code_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="not the name of a registered torch operator"):
        repro.script(call_of(name, "[[4]]", '["float"]'))


@pytest.mark.parametrize(
    "text",
    [
        '1\')]; raise SystemExit(3) #\n"""',
        "/etc/passwd",
        "model.pt",
        "'a text in quotes'",
        "['a list of them']",
        "{'a': 1}",
        "model.layers.0.self_attn",
    ],
)
def test_a_text_that_may_name_a_file_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"its argument 1 is the text .*, which may name a file"):
        repro.script(call_of("aten::gelu", "[[4], []]", f'["{F4}", "Scalar"]', "[]", json.dumps(["", text])))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("aten::gelu", "tanh"),
        ("aten::scatter_reduce", "amax"),
        ("aten::linalg_vector_norm", "inf"),
        ("aten::conv2d", "[1, 1]"),
        ("aten::conv2d", "same"),
        ("aten::einsum", "bij,bjk->bik"),
        ("aten::to", "cuda:0"),
        ("aten::mul", "(1+2j)"),
    ],
)
def test_numbers_and_the_words_of_operators_are_literals(name: str, text: str) -> None:
    script = repro.script(call_of(name, "[[4], []]", f'["{F4}", "Scalar"]', "[]", json.dumps(["", text])))
    assigned = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(script).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.lineno < 15
    }
    assert assigned["ARGUMENTS"][1] == ("value", text)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "image::write_file",
            "video_reader::read_video_from_file",
            "c10d::allreduce_",
            "_c10d_functional::all_reduce",
        ),
        *("symm_mem::one_shot_all_reduce", "cuda::set_device", "prim::profile", "rpc::send", "mylib::op"),
    ],
)
def test_libraries_that_do_more_than_compute_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="not one of the libraries"):
        repro.script(call_of(name, "[[4]]", f'["{F4}"]'))


@pytest.mark.parametrize(
    "name",
    [
        *("aten::from_file", "aten::save", "aten::save.default", "aten::manual_seed", "aten::_print"),
        *("vllm::all_reduce", "_C::init_custom_ar", "aiter::reg_all_gather", "sgl_kernel::register_buffer"),
        *("quantized::save_weights", "aiter::open_mem_handle", "sgl_kernel::qr_destroy"),
    ],
)
def test_operators_with_effects_beyond_tensors_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="communicates, reads or writes files, or changes the process"):
        repro.script(call_of(name, "[[4]]", f'["{F4}"]'))


def test_numbers_alone_are_taken_by_operators_that_make_tensors() -> None:
    assert "aten::zeros" in repro.script(call_of("aten::zeros", "[[]]", '["ScalarList"]', "[]", '["[4, 8]"]'))
    with pytest.raises(UsageError, match="none of its arguments is a tensor"):
        repro.script(
            call_of(
                "aten::_cufft_set_plan_cache_max_size", "[[], []]", '["Scalar", "Scalar"]', "[]", '["0", "9"]'
            )
        )


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize(
    "name", ["from_file", "save", "manual_seed", "_print", "seed", "warn", "set_grad_enabled"]
)
def test_what_is_refused_is_known_to_torch(name: str) -> None:
    import torch

    assert hasattr(torch.ops.aten, name)


def test_shapes_nested_without_end_are_not_recorded() -> None:
    assert arguments("[" * 100_000, "[]") is None


def test_a_file_is_not_overwritten_unasked(tmp_path: Path) -> None:
    target = tmp_path / "r.py"
    call = call_of(*CALLS["mm"])
    repro.write(call, target)
    with pytest.raises(UsageError, match="--force"):
        repro.write(call, target)
    repro.write(call, target, 3, overwrite=True)
    assert "ITERATIONS = 3" in target.read_text()


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("case", CALLS)
def test_the_script_runs(case: str, tmp_path: Path) -> None:
    target = tmp_path / "r.py"
    repro.write(call_of(*CALLS[case]), target, 3)
    done = subprocess.run([sys.executable, str(target)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith(CALLS[case][0].replace("::", "."))
    assert second.startswith("median ")
    assert second.endswith("3 times, each call alone")


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_a_script_calls_no_overload_without_tensors(tmp_path: Path) -> None:
    """`aten::wait` and its kind change the process; the list of names is not all there is between them and a call."""
    target = tmp_path / "r.py"
    repro.write(call_of("aten::zeros", "[[]]", '["ScalarList"]', "[]", '["[4]"]'), target, 1)
    target.write_text(target.read_text().replace("aten::zeros", "aten::manual_seed").replace("'[4]'", "'7'"))
    done = subprocess.run([sys.executable, str(target)], capture_output=True, text=True, check=False)
    assert "it neither takes nor returns tensors" in done.stderr


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_a_script_that_fits_no_overload_says_why(tmp_path: Path) -> None:
    target = tmp_path / "r.py"
    repro.write(call_of("aten::mm", "[[4, 8], [3, 2]]", f'["{F4}", "{F4}"]'), target, 1)
    done = subprocess.run([sys.executable, str(target)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no overload of aten::mm takes the recorded arguments" in done.stderr
