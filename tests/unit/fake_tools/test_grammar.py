"""Which command lines the stand-ins take and which they refuse, as the real tools do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fake_tools._fake import (
    avail,
    counters,
    rocprof_v1,
    rocprofv2,
    rocprofv3,
    v3_jobs,
    v3_options,
    v3_output,
)

Version = tuple[int, ...]


@pytest.mark.parametrize(
    ("rocm", "line"),
    [
        ((6, 2), "--hip-trace --kernel-trace --output-format csv -d out -o x -i pmc.txt"),
        ((6, 2), "-s --stats -T --kernel-rename -f pftrace json"),
        (
            (6, 4),
            "--pmc SQ_WAVES GRBM_COUNT --kernel-include-regex gemm -p 1:2:3 --collection-period-unit msec",
        ),
        ((7, 0), "-f csv json pftrace otf2 rocpd -r --hsa-trace=no -P 0:1:1 --att -A absolute"),
        ((7, 0), "--pc-sampling-beta-enabled --pc-sampling-unit cycles --pc-sampling-method stochastic"),
        ((7, 2), "--attach 12 --attach-duration-msec 5 --profile-mpi-ranks 0-3"),
        ((7, 13), "--pmc A B --pmc C --kfd-trace --hip-graph-trace"),
        ((10, 0), "--replay-mode kernel --kernel-replay-beta-enabled --pmc A --ompt-trace parallel task"),
        ((7, 2), "--output-fo csv"),  # argparse takes what is unambiguous
    ],
)
def test_rocprofv3_takes(rocm: Version, line: str) -> None:
    _, application = v3_options.parse([*line.split(), "--", "app", "--", "-x"], rocm)
    assert application == ["app", "--", "-x"]


@pytest.mark.parametrize(
    ("rocm", "line", "message"),
    [
        ((7, 2), "--counter SQ_WAVES", "unrecognized arguments: --counter SQ_WAVES"),
        ((7, 2), "--list-counters", "unrecognized arguments"),
        ((7, 2), "--perfetto-trace-filename x.pftrace", "unrecognized arguments"),
        ((7, 2), "--counter-collection", "unrecognized arguments"),
        ((7, 2), "--roctx-trace", "unrecognized arguments"),
        ((7, 2), "-f xml", "invalid choice: 'xml'"),
        ((7, 2), "-f csv ./app", "invalid choice: './app'"),
        ((7, 2), "--pc-sampling-method random", "invalid choice"),
        ((7, 2), "--pc-sampling-interval many", "invalid int value"),
        ((7, 2), "--kernel", "ambiguous option"),
        ((7, 2), "-d", "expected one argument"),
        ((7, 2), "./app", "unrecognized arguments: ./app"),
        ((6, 4), "--version", "unrecognized arguments"),
        ((6, 4), "-f rocpd", "invalid choice: 'rocpd'"),
        ((6, 2), "--pmc SQ_WAVES", "unrecognized arguments"),
        ((6, 4), "--att", "unrecognized arguments"),
        ((7, 2), "--replay-mode kernel", "unrecognized arguments"),
    ],
)
def test_rocprofv3_refuses(
    capsys: pytest.CaptureFixture[str], rocm: Version, line: str, message: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        v3_options.parse([*line.split(), "--", "app"], rocm)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_an_application_without_the_dashes_is_taken_for_a_truth_value() -> None:
    with pytest.raises(ValueError, match=r"invalid truth value \./app"):
        v3_options.parse(["--kernel-trace", "./app"], (7, 2))


def test_several_pmc_flags_are_passes_from_7_13_and_the_last_one_counts_before() -> None:
    line = ["--pmc", "A", "B", "--pmc", "C"]
    assert v3_options.parse(line, (7, 13))[0].pmc == [["A", "B"], ["C"]]
    assert v3_options.parse(line, (7, 2))[0].pmc == ["C"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--kernel-trace", "No application provided"),
        ("--pc-sampling-unit time -- app", "PC sampling unavailable"),
        ("--pc-sampling-beta-enabled --pc-sampling-unit time -- app", "All three PC sampling"),
        ("--att -- app", "rocprof-trace-decoder library path not found"),
        ("--selected-regions -P 1:1:1 -- app", "mutually exclusive"),
        ("-i counters.ini -- app", "does not have a recognized extension"),
        ("-i absent.txt -- app", "No such file or directory"),
    ],
)
def test_rocprofv3_stops_with_a_fatal_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.setenv("FAKE_ROCM", "7.2")
    with pytest.raises(SystemExit) as caught:
        rocprofv3.main(line.split())
    error = capsys.readouterr().err
    assert (caught.value.code, error.startswith("[rocprofv3] Fatal error: ")) == (1, True)
    assert message in error


def test_jobs_of_text_json_and_yaml(tmp_path: Path) -> None:
    text, document, yaml = tmp_path / "a.txt", tmp_path / "a.json", tmp_path / "a.yaml"
    text.write_text("# pmc: NO\npmc: A B # C\n\npmc : D\npmc:\tE\n")
    document.write_text('{"jobs": [{"pmc": ["A"], "kernel_trace": true}, {"pmc": ["B"]}]}')
    yaml.write_text(
        "jobs:\n  - pmc:\n      - A\n      - B\n    kernel_trace: true\n  - pmc: [C, D]\n    output_file: x\n"
    )
    read = {path: v3_jobs.read_jobs(str(path), text_deprecated=False) for path in (text, document, yaml)}
    assert read[text] == [{"pmc": names, "sub_directory": "pmc_"} for names in (["A", "B"], ["E"])]
    assert [job["pmc"] for job in read[document]] == [["A"], ["B"]]
    assert read[yaml] == [
        {"pmc": ["A", "B"], "kernel_trace": True, "sub_directory": "pass_"},
        {"pmc": ["C", "D"], "output_file": "x", "sub_directory": "pass_"},
    ]


def test_an_input_without_a_pmc_line_is_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "v1.txt").write_text("pmc : SQ_WAVES\n")  # as rocprof takes it
    with pytest.raises(IndexError):
        rocprofv3.main(["-i", str(tmp_path / "v1.txt"), "--", "app"])


def test_placeholders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB", "nightly")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "3")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "8")
    pattern = "%tag%-%pid%-%rank%of%size%-%env{JOB}%-$ENV{JOB}-%q{JOB}%-%p-%unknown%"
    assert (
        v3_output.expand(pattern, 77, ["/bin/app", "-n"])
        == "app-77-3of8-nightly-nightly-nightly-77-%unknown%"
    )


@pytest.mark.parametrize(
    ("names", "gfx", "over"),
    [
        (
            "SQ_WAVES SQ_INSTS SQ_INSTS_VALU SQ_INSTS_SALU SQ_INSTS_LDS SQ_INSTS_SMEM SQ_ITEMS SQ_CYCLES",
            "gfx942",
            {},
        ),
        ("GRBM_COUNT GRBM_GUI_ACTIVE GRBM_SPI_BUSY", "gfx942", {"GRBM": 3}),
        ("TCC_HIT_sum TCC_MISS_sum TCC_READ_sum TCC_WRITE_sum TCC_HIT", "gfx90a", {}),
        ("TCC_HIT_sum TCC_MISS_sum FETCH_SIZE", "gfx942", {"TCC": 5}),
        ("GL2C_HIT GL2C_MISS FETCH_SIZE", "gfx1100", {"GL2C": 6}),
    ],
)
def test_what_fits_into_one_pass(names: str, gfx: str, over: dict[str, int]) -> None:
    assert set(names.split()) <= counters.known(gfx, (7, 0))
    assert counters.over_capacity(names.split(), gfx, (7, 0)) == over


def test_counters_are_those_of_the_gpu(specimens: Path) -> None:
    known = json.loads((specimens / "counters" / "counters_by_gfx_ROCm7.0.json").read_text())
    for gfx in ("gfx942", "gfx90a", "gfx1100"):
        assert set(counters.hardware(gfx, (7, 0))) <= set(known["hardware"][gfx])
        assert set(counters.derived(gfx, (7, 0))) <= set(known["derived"][gfx])
    assert counters.known("gfx1151", (7, 0)) == set()
    assert counters.known("gfx1151", (7, 2)) != set()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("-- ./app", 1),
        ("--kernel-trace ./app", 1),
        ("--output-format csv ./app", 1),
        ("-o out.db ./app", 1),
        ("--trace-period 5 ./app", 1),
        ("-h", 1),
        ("--version", 0),
        ("--list-basic", 1),
        ("-i counters.json ./app", None),
        (
            "--hsa-trace --roctx-trace --hip-trace --stats -i in.txt -o out.csv --timestamp on ./app -- --x",
            None,
        ),
        ("--basenames on -d data -t tmp ./app", None),
    ],
)
def test_rocprof(line: str, code: int | None) -> None:
    if code is None:
        options = rocprof_v1.parse(line.split())
        assert options.application == line[line.index("./app") :].split()
        return
    with pytest.raises(SystemExit) as caught:
        rocprof_v1.parse(line.split())
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("-- ./app", 1),
        ("--stats ./app", 1),
        ("--plugin nothing ./app", 1),
        ("-i absent.txt ./app", 1),
        ("-fi 0 ./app", 1),
        ("-tp 5 ./app", 1),
        ("--help", 1),
        ("--list-counters", 1),
        ("--version", 0),
        ("--plugin perfetto --hsa-trace --roctx-trace --kernel-trace -o prof ./app -- --x", None),
        ("--sys-trace --plugin-version 1 -d out -tp 1:2:3 -ns ./app", None),
    ],
)
def test_rocprofv2(line: str, code: int | None) -> None:
    if code is None:
        assert rocprofv2.parse(line.split()).application == line[line.index("./app") :].split()
        return
    with pytest.raises(SystemExit) as caught:
        rocprofv2.parse(line.split())
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("list --pmc", 0),
        ("info --pmc SQ_WAVES", 0),
        ("-d 0 info --pc-sampling", 0),
        ("pmc-check SQ_WAVES TCC_HIT_sum", 0),
        ("pmc-check SQ_NOTHING", 1),
        ("pmc-check GRBM_COUNT GRBM_GUI_ACTIVE GRBM_SPI_BUSY", 1),
        ("pmc-check", 1),
        ("show", 2),
        ("list --counters", 2),
    ],
)
def test_rocprofv3_avail(capsys: pytest.CaptureFixture[str], line: str, code: int) -> None:
    try:
        status: object = avail.main(line.split())
    except SystemExit as caught:
        status = caught.code
    assert status == code
    capsys.readouterr()
