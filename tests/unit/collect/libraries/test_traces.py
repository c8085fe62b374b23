"""Logs of the libraries, in the forms in which they are found in public reports, and what becomes of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.collect.libraries.logs import hipblaslt, miopen, rccl, rocblas, tensile
from rocm_perf.collect.libraries.logs.call import Call, flow_mapping, options
from rocm_perf.collect.libraries.traces import LOGS, environment, gather
from rocm_perf.ingest.load import load
from rocm_perf.model.library_trace import COLUMNS, FILE_NAME

BENCH = (
    "./rocblas-bench -f gemm_ex --transposeA T --transposeB N -m 17408 -n 2048 -k 5120 --alpha 1 --a_type f16_r "
    "--lda 5120 --b_type f16_r --ldb 5120 --beta -1 --c_type f32_r --ldc 17408 --d_type f32_r --ldd 17408 "
    "--compute_type f32_r --algo 0 --solution_index 12 --flags 0"
)
TRACE = (
    "rocblas_gemm_ex,N,T,1024,16,27,1,0x7be683213a00,f32_r,1024,0x7be683203000,f32_r,27,0,0x7be683203a00,f32_r,1024,"
    "0x7be683203a00,f32_r,1024,f32_r,0,0,none,atomics_allowed"
)
PROFILE = (
    '- { rocblas_function: "rocblas_gemm_ex", atomics_mode: atomics_allowed, a_type: "bf16_r", b_type: "bf16_r", '
    'c_type: "bf16_r", d_type: "bf16_r", compute_type: "f32_r", transA: \'T\', transB: \'N\', M: 12288, N: 4547, '
    "K: 4608, alpha: 1.0, lda: 4608, beta: 0.0, ldb: 4608, ldc: 12288, ldd: 12288, batch_count: 1, algo: 0, "
    "solution_index: 0, flags: none, call_count: 136 }"
)
LT_BENCH = (
    "hipblaslt-bench --api_method c -m 48 -n 176 -k 1024 --lda 48 --ldb 176 --ldc 48 --ldd 48  --stride_a 0 "
    "--stride_b 0 --stride_c 0 --stride_d 0  --alpha 1.000000 --beta 0.000000 --transA N --transB T --batch_count 3 "
    "--scaleA 0 --scaleB 0  --bias_vector --a_type bf16_r --b_type bf16_r --c_type bf16_r --d_type bf16_r "
    "--scale_type f32_r --bias_type f32_r   --compute_type f32_r --algo_method index --solution_index 218160 "
    "--activation_type none "
)
LT_TRACE = (
    "[2023-06-12 21:16:46][HIPBLASLT][690719][Api][rocblaslt_matrix_layout_create] matLayout[out]=0x7fffa3161bd8 "
    "type=R_32F rows=2400 cols=128"
)
CONV = (
    "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver convfp16 -n 32 -c 64 -H 256 -W 256 -k 64 -y 3 -x 3 "
    "-p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 2 -t 1"
)
NORM = "MIOpen(HIP): Command [LogCmdBNorm] ./bin/MIOpenDriver bnormfp16 -n 256 -c 64 --forw 1 -b 0"
ALL_REDUCE = (
    "h03r3n06:45006:45006 [0] NCCL INFO AllReduce: opCount 28c sendbuff 0x7f5dd32b2100 recvbuff 0x7f5dd32b2100 count "
    "9984512 datatype 7 op 0 root 0 comm 0x55bef0201370 [nranks=4] stream 0x55bef0208bd0"
)
INIT = (
    "h03r3n06:45006:45100 [0] NCCL INFO ncclCommInitRank comm 0x55bef0201370 rank 3 nranks 4 cudaDev 0 nvmlDev 0 "
    "busId 300000 commId 0xbe03cb101208fab4 - Init COMPLETE"
)


def _said(call: Call | None, *names: str) -> tuple[object, ...]:
    assert call is not None
    return tuple(getattr(call, name) for name in names)


_SHAPE = ("call", "form", "m", "n", "k", "batch_count", "transposes", "dtypes", "compute_type", "solution")


def test_rocblas_bench() -> None:
    assert _said(rocblas.parse(BENCH), *_SHAPE) == (
        "gemm_ex", "bench", 17408, 2048, 5120, None, "TN", "f16_r,f16_r,f32_r,f32_r", "f32_r", "12",
    )  # fmt: skip
    older = "./rocblas-bench -f gemm -r f32_r --transposeA N --transposeB N -m 128 -n 64 -k 32 --alpha 1 --lda 128"
    assert _said(rocblas.parse(older), "call", "m", "n", "k", "dtypes") == ("gemm", 128, 64, 32, "f32_r")


def test_rocblas_trace() -> None:
    assert _said(rocblas.parse(TRACE), *_SHAPE) == (
        "gemm_ex", "trace", 1024, 16, 27, None, "NT", "f32_r,f32_r,f32_r,f32_r", "f32_r", "",
    )  # fmt: skip
    assert "0x7be" not in rocblas.parse(TRACE).parameters  # type: ignore[union-attr]
    assert _said(rocblas.parse("rocblas_create_handle,atomics_allowed"), "call", "m") == (
        "create_handle",
        None,
    )
    single = "rocblas_sgemm,N,N,4,5,6,1,0x7be683213a00,4,0x7be683213a00,6,0,0x7be683213a00,4,atomics_allowed"
    assert _said(rocblas.parse(single), "call", "m", "n", "k", "dtypes") == ("sgemm", 4, 5, 6, "f32_r")


def test_rocblas_profile() -> None:
    assert _said(rocblas.parse(PROFILE), *_SHAPE, "calls") == (
        "gemm_ex", "profile", 12288, 4547, 4608, 1, "TN", "bf16_r,bf16_r,bf16_r,bf16_r", "f32_r", "0", 136,
    )  # fmt: skip


def test_hipblaslt() -> None:
    assert _said(hipblaslt.parse(LT_BENCH), *_SHAPE) == (
        "matmul", "bench", 48, 176, 1024, 3, "NT", "bf16_r,bf16_r,bf16_r,bf16_r", "f32_r", "218160",
    )  # fmt: skip
    assert _said(hipblaslt.parse(LT_TRACE), "call", "pid", "form") == (
        "rocblaslt_matrix_layout_create",
        690719,
        "trace",
    )
    profile = "- { function: matmul, M: 8, N: 9, K: 10, transA: N, transB: T, batch_count: 1, call_count: 7 }"
    assert _said(hipblaslt.parse(profile), "m", "n", "k", "calls") == (8, 9, 10, 7)


@pytest.mark.parametrize(
    ("line", "call", "dtypes"),
    [
        (CONV, "conv_backward_data", "f16"),
        (CONV.replace("convfp16", "conv").replace("-F 2", "-F 1"), "conv_forward", "f32"),
        (CONV.replace("convfp16", "convbfp16").replace("-F 2", "-F 4"), "conv_backward_weights", "bf16"),
        (CONV.replace("LogCmdConvolution", "LogCmdFindConvolution"), "find_conv_backward_data", "f16"),
        (NORM, "bnorm_forward", "f16"),
    ],
)  # fmt: skip
def test_miopen(line: str, call: str, dtypes: str) -> None:
    assert _said(miopen.parse(line), "call", "dtypes") == (call, dtypes)


def test_tensile() -> None:
    line = "Running kernel: Cijk_Ailk_Bljk_HHS_BH_Bias_HA_S_SAV_UserArgs_MT128x96x64_MI16x16x1_SN"
    assert _said(tensile.parse(line), "solution", "parameters") == (
        line.rsplit(maxsplit=1)[-1],
        "macro tile 128x96x64",
    )
    assert tensile.parse("Cijk is not a kernel") is None


@pytest.mark.parametrize(
    ("name", "count", "dtype", "ranks", "call", "size"),
    [
        ("AllReduce", 9984512, 7, 4, "all_reduce", 9984512 * 4),
        ("AllGather", 100, 6, 8, "all_gather", 200),
        ("ReduceScatter", 100, 9, 8, "reduce_scatter", 1600),
        ("AllToAll", 10, 0, 4, "all_to_all", 40),
        ("Broadcast", 10, 8, 4, "broadcast", 80),
        ("Send", 10, 7, 2, "send", 40),
        ("Recv", 10, 7, 2, "recv", None),
        ("AllReduce", 10, 99, 2, "all_reduce", None),
    ],
)
def test_rccl_sizes_are_those_of_the_ranks_input(
    name: str, count: int, dtype: int, ranks: int, *, call: str, size: int | None
) -> None:
    line = ALL_REDUCE.replace("AllReduce", name).replace("9984512", str(count))
    line = line.replace("datatype 7", f"datatype {dtype}").replace("nranks=4", f"nranks={ranks}")
    assert _said(rccl.parse(line), "call", "size_bytes", "group_size", "pid") == (call, size, ranks, 45006)


def test_rccl_states_the_rank_itself() -> None:
    assert _said(rccl.parse(f"{ALL_REDUCE} task 0 globalrank 6"), "rank") == (6,)


@given(st.text(max_size=200))
def test_any_text_is_parsed_or_not_but_never_fails(text: str) -> None:
    for parse in (rocblas.parse, hipblaslt.parse, miopen.parse, tensile.parse, rccl.parse):
        parse(text)
        parse(f"./rocblas-bench {text}")
        parse(f"hipblaslt-bench {text}")
        parse(f"MIOpen(HIP): Command [LogCmdX] ./bin/MIOpenDriver {text}")
        parse(f"- {{ rocblas_function: {text} }}")
        parse(f"rocblas_gemm,{text}")
        parse(ALL_REDUCE.replace("9984512", text))


def test_options_and_mappings() -> None:
    assert options(["-m", "1", "--alpha", "-2.5e-3", "--bias", "--list", "1", "2"]) == {
        "m": "1",
        "alpha": "-2.5e-3",
        "bias": "",
        "list": "1 2",
    }
    assert flow_mapping("{ M: 1, transA: 'N', name: \"a, b\" }") == {"M": "1", "transA": "N", "name": "a, b"}


def test_the_environment_points_into_the_run_and_the_folder_is_there(tmp_path: Path) -> None:
    found = environment(tmp_path, {})
    assert found["ROCBLAS_LAYER"] == "2"
    assert found["ROCBLAS_LOG_BENCH_PATH"] == str(tmp_path / LOGS / "rocblas.log")
    assert found["HIPBLASLT_LOG_FILE"].endswith("hipblaslt_%i.log")
    assert found["NCCL_DEBUG_FILE"].endswith("rccl_%h.%p.log")
    assert found["NCCL_DEBUG_SUBSYS"] == "INIT,COLL"
    assert (tmp_path / LOGS).is_dir()
    assert "TENSILE_DB" not in found


@pytest.mark.parametrize(
    ("given", "gone"),
    [
        ({"NCCL_DEBUG": "WARN"}, "NCCL_"),
        ({"ROCBLAS_LOG_PATH": "x"}, "ROCBLAS_"),
        ({"HIPBLASLT_LOG_LEVEL": "0"}, "HIPBLASLT_"),
        ({"MIOPEN_ENABLE_LOGGING": "1"}, "MIOPEN_"),
    ],
)
def test_what_the_user_has_set_up_himself_is_left_alone(
    tmp_path: Path, given: dict[str, str], gone: str
) -> None:
    assert not [name for name in environment(tmp_path, given) if name.startswith(gone)]
    assert len(environment(tmp_path, given)) < len(environment(tmp_path, {}))


def _logged(folder: Path) -> Path:
    logs = folder / LOGS
    logs.mkdir(parents=True)
    (logs / "rocblas.log").write_text(f"{BENCH}\n" * 3 + f"{BENCH.replace('17408', '1')}\nwhat is this\n")
    (logs / "hipblaslt_4242.log").write_text(LT_BENCH + "\n")
    (logs / "rccl_h03r3n06.45006.log").write_text(
        f"{INIT}\n{ALL_REDUCE}\n{ALL_REDUCE.replace('28c', '28d')}\nh:1:1 [0] NCCL INFO Bootstrap : Using eth0\n"
    )
    return folder


def test_logs_become_rows_a_summary_and_tables(tmp_path: Path) -> None:
    trace = gather(_logged(tmp_path), f"hello\n{CONV}\n")
    assert trace.path == tmp_path / FILE_NAME
    assert trace.summary == (
        "hipblaslt: 1 call in 1 shape; rccl: 2 calls in 1 shape; rocblas: 4 calls in 2 shapes; "
        "miopen: 1 call in 1 shape"
    )
    assert "1 line of rocblas.log not understood" in trace.notices
    loaded = load(tmp_path)
    calls = loaded.table("library_calls")
    assert dict(calls.group_by("library").agg(pl.col("calls").sum()).rows()) == {
        "rocblas": 4,
        "hipblaslt": 1,
        "miopen": 1,
        "rccl": 2,
    }
    assert calls.filter(pl.col("library") == "hipblaslt")["pid"].to_list() == [4242]
    collectives = loaded.table("collectives").select(
        "name", "size_bytes", "dtype", "group", "group_size", "rank"
    )
    assert collectives.rows() == [("all_reduce", 39938048, "float32", "0xbe03cb101208fab4", 4, 3)] * 2


def test_one_call_in_two_forms_of_a_log_counts_once(tmp_path: Path) -> None:
    trace = gather(tmp_path, f"{TRACE}\n{BENCH}\n{TRACE}\n{PROFILE}\n")
    assert [(call.form, call.calls) for call in trace.calls] == [("bench", 1)]


def test_a_run_without_logs(tmp_path: Path) -> None:
    trace = gather(tmp_path, "nothing of interest\n")
    assert trace.path is None
    assert trace.summary == "no library logged a call"
    assert list(tmp_path.iterdir()) == []


def test_a_log_of_any_bytes_is_survived(tmp_path: Path) -> None:
    logs = tmp_path / LOGS
    logs.mkdir()
    (logs / "rocblas.log").write_bytes(bytes(range(256)) * 100 + BENCH.encode() + b"\n" + b"x" * 200_000)
    (logs / "hipblaslt_1.log").mkdir()
    trace = gather(tmp_path)
    assert [call.calls for call in trace.calls] == [1]
    assert any("hipblaslt_1.log cannot be read" in notice for notice in trace.notices)


def test_a_folder_that_cannot_be_written_is_a_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)  # the last step of writing it
    trace = gather(_logged(tmp_path))
    assert trace.path is None
    assert any("No space left" in notice for notice in trace.notices)
    assert trace.calls


def test_columns_are_the_fields_of_a_call() -> None:
    assert {*Call.__dataclass_fields__} - {"form"} == {*COLUMNS}


def test_a_program_that_logs_as_told_is_gathered(tmp_path: Path) -> None:
    """The variables reach a program, and what it writes under them is found again."""
    variables = environment(tmp_path, {})
    code = (
        "import os\n"
        f"open(os.environ['ROCBLAS_LOG_BENCH_PATH'], 'w').write({BENCH!r} + '\\n')\n"
        f"open(os.environ['HIPBLASLT_LOG_FILE'].replace('%i', str(os.getpid())), 'w').write({LT_BENCH!r} + '\\n')\n"
        "raise SystemExit(7)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], env=variables, check=False, timeout=30)
    assert ended.returncode == 7
    assert {call.library for call in gather(tmp_path).calls} == {"rocblas", "hipblaslt"}
