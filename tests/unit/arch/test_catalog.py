"""The catalogue: its numbers agree with one another, and files that are wrong are refused with file and field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from scripts.gpus_page import PAGE, page

from rocm_perf.arch import catalog
from rocm_perf.arch.gpu import Gpu
from rocm_perf.errors import InputError, UsageError

# FLOP per clock and compute unit. CDNA 3 and 4 count packed FP32, RDNA 3 and 4 dual issue: 64 lanes x 2 x 2.
F32 = {
    "GCN 5.1": 128,
    "CDNA": 128,
    "CDNA 2": 128,
    "CDNA 3": 256,
    "CDNA 4": 256,
    "RDNA 2": 128,
    "RDNA 3": 256,
    "RDNA 3.5": 256,
    "RDNA 4": 256,
    "Ampere": 128,
    "Hopper": 256,
    "Blackwell": 256,
}
F64 = {
    "GCN 5.1": 64,
    "CDNA": 64,
    "CDNA 2": 128,
    "CDNA 3": 128,
    "CDNA 4": 128,
    "Ampere": 64,
    "Hopper": 128,
    "Blackwell": 128,
}
F16_MATRIX = {
    "CDNA": 1024,
    "CDNA 2": 1024,
    "CDNA 3": 2048,
    "CDNA 4": 4096,
    "RDNA 3": 512,
    "RDNA 3.5": 512,
    "RDNA 4": 1024,
}
F8_MATRIX = {"CDNA 3": 4096, "CDNA 4": 8192, "RDNA 4": 2048}
METHODS = ["counters", "pc_sampling_host_trap", "pc_sampling_stochastic", "att", "roofline"]
GPUS = catalog.packaged_gpus()
each_gpu = pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.name)

UserFile = Callable[[str], Path]


@pytest.fixture(autouse=True)
def user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UserFile:
    """Writes a file of the user's own; without a call, there is none."""
    folder = tmp_path / "gpus"
    monkeypatch.setenv("ROCM_PERF_GPUS", str(folder))

    def write(text: str) -> Path:
        folder.mkdir(exist_ok=True)
        (folder / "mine.toml").write_text(text)
        return folder / "mine.toml"

    return write


def test_the_chips_that_are_promised() -> None:
    assert catalog.known_gfx() == (
        "gfx906",
        "gfx908",
        "gfx90a",
        "gfx942",
        "gfx950",
        "gfx1030",
        "gfx1100",
        "gfx1101",
        "gfx1102",
        "gfx1103",
        "gfx1150",
        "gfx1151",
        "gfx1200",
        "gfx1201",
        "sm_80",
        "sm_90",
        "sm_100",
    )
    assert [gpu.name for gpu in catalog.gpus_of("gfx942")] == [
        "AMD Instinct MI300X",
        "AMD Instinct MI300A",
        "AMD Instinct MI325X",
    ]
    assert catalog.gpus_of("gfx000") == ()


@each_gpu
def test_vector_rates_are_units_times_clock(gpu: Gpu) -> None:
    a_clock = gpu.compute_units * gpu.clock_mhz / 1e6
    assert gpu.vector_tflops["f32"] == pytest.approx(F32[gpu.family] * a_clock, rel=0.02)
    if (
        "f64" in gpu.vector_tflops and gpu.name != "AMD Radeon VII"
    ):  # which has half of the rate of its siblings
        assert gpu.vector_tflops["f64"] == pytest.approx(F64[gpu.family] * a_clock, rel=0.02)


@each_gpu
def test_matrix_rates_are_units_times_clock(gpu: Gpu) -> None:
    a_clock = gpu.compute_units * gpu.clock_mhz / 1e6
    assert (gpu.matrix_unit is None) == (not gpu.matrix_tflops)
    for dtype, rates in (("f16", F16_MATRIX), ("f8", F8_MATRIX)):
        # NVIDIA states those of its tensor cores at a lower clock than the highest.
        if gpu.vendor == "AMD" and dtype in gpu.matrix_tflops:
            assert gpu.matrix_tflops[dtype] == pytest.approx(rates[gpu.family] * a_clock, rel=0.02)


PINS = [gpu for gpu in GPUS if gpu.memory_bus_bits and gpu.memory_gbps_per_pin]


@pytest.mark.parametrize("gpu", PINS, ids=lambda gpu: gpu.name)
def test_bandwidth_is_pins_times_their_rate(gpu: Gpu) -> None:
    assert gpu.memory_bus_bits is not None
    assert gpu.memory_gbps_per_pin is not None
    # AMD rounds 6.14 and 8.19 TB/s of MI325X, MI350X and MI355X down to 6 and 8.
    rounded = 0.025 if gpu.memory_gbps in (6000, 8000) else 0.02
    pins = gpu.memory_bus_bits * gpu.memory_gbps_per_pin / 8
    assert gpu.memory_gbps == pytest.approx(pins, rel=rounded)


def test_whose_bandwidth_has_no_second_source() -> None:
    """Those whose bus and data rate nobody could look up: a shorter list is better."""
    assert [gpu.name for gpu in GPUS if gpu not in PINS] == [
        "AMD Radeon 780M",
        "AMD Radeon 890M",
        "NVIDIA A100 PCIe 80GB",
        "NVIDIA GH200 96GB",
        "NVIDIA GH200 144GB",
        "NVIDIA B200",
    ]


@each_gpu
def test_a_source_says_where_it_was_read_or_that_it_was_not(gpu: Gpu) -> None:
    for field, source in gpu.sources.items():
        unread = source.note.startswith("not opened")
        read = bool(source.url) or source.title == "Computed" or "read " in source.note
        assert read != unread, f"{field}: {source.title}"


@each_gpu
def test_every_number_has_a_source(gpu: Gpu) -> None:
    for field in msgspec.structs.fields(Gpu):
        value = getattr(gpu, field.name)
        if isinstance(value, bool | str) or value is None or field.name in ("aliases", "methods", "sources"):
            continue
        if isinstance(value, dict):
            assert all(gpu.sources[f"{field.name}.{entry}"].title for entry in value), field.name
        elif value != ():
            assert gpu.sources[field.name].title, field.name


@each_gpu
def test_sizes_are_those_of_the_family(gpu: Gpu) -> None:
    assert gpu.max_lds_per_workgroup <= gpu.lds_bytes
    assert (
        set(gpu.max_waves_per_simd) == set(gpu.wave_sizes) == set(gpu.vgprs_per_simd) == set(gpu.vgpr_granule)
    )
    if gpu.vendor == "AMD":
        # A SIMD's file is 128 KiB on GCN and CDNA 1, and on RDNA 2; 256 beside the AGPRs; 192 on the larger RDNA 3.
        file_bytes = {size: 4 * size * count for size, count in gpu.vgprs_per_simd.items()}
        assert set(file_bytes.values()) <= {64 << 10, 128 << 10, 192 << 10}
        assert len(set(file_bytes.values())) == 1
        assert gpu.cus_per_lds == (2 if gpu.family.startswith("RDNA") else 1)


@each_gpu
def test_every_way_to_look_is_answered(gpu: Gpu) -> None:
    assert [method.name for method in gpu.methods] == METHODS
    assert all(method.works == "yes" or method.reason for method in gpu.methods)
    assert all(method.source == gpu.sources[f"methods.{method.name}"].title for method in gpu.methods)


def test_counters_of_strix_halo_came_late() -> None:
    counters = catalog.find_gpu("8060S").methods[0]
    assert (counters.works, counters.since) == ("yes", "7.2")
    assert [m.works for m in catalog.find_gpu("MI210").methods] == ["yes", "yes", "no", "yes", "yes"]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("MI300X", "AMD Instinct MI300X"),
        ("amd instinct mi300x vf", "AMD Instinct MI300X"),
        ("MI250X", "AMD Instinct MI250X GCD"),
        ("mi250", "AMD Instinct MI250 GCD"),
        ("7900 xtx", "AMD Radeon RX 7900 XTX"),
        ("rx7900xtx", "AMD Radeon RX 7900 XTX"),
        ("AMD Radeon(TM) 8060S Graphics", "AMD Radeon 8060S"),
        ("R97", ""),
        ("mi355", "AMD Instinct MI355X"),
        ("gfx908", "AMD Instinct MI100"),
        ("NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM"),
        ("H200", "NVIDIA H200 SXM"),
    ],
)
def test_find_gpu(asked: str, name: str) -> None:
    if name:
        assert catalog.find_gpu(asked).name == name
    else:
        with pytest.raises(UsageError, match="no GPU"):
            catalog.find_gpu(asked)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            "gfx942",
            "'gfx942' matches several GPUs. Choose one: AMD Instinct MI300X, AMD Instinct MI300A, AMD Instinct MI325X",
        ),
        ("RX 7900", "Choose one: AMD Radeon RX 7900 XTX, AMD Radeon RX 7900 XT, AMD Radeon RX 7900 GRE"),
        ("MI300Y", "no GPU 'MI300Y' is in the catalogue. Near: AMD Instinct MI300"),
        ("gfx943", "Near: gfx942"),
        ("", "`rocm-perf gpus` lists all"),
    ],
)
def test_what_is_not_one_gpu_is_refused(asked: str, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        catalog.find_gpu(asked)
    assert message in str(refusal.value)


USER = """
gfx = "gfx942"
[sources.ours]
title = "our measurement"
[[sku]]
name = "AMD Instinct MI300X"
aliases = ["our card"]
[sku.from.ours]
memory_gbps = 4900
matrix_tflops = {f16 = 1000.0}
"""


def test_a_user_corrects_a_gpu(user_file: UserFile) -> None:
    user_file(USER)
    gpu = catalog.find_gpu("our card")
    assert (gpu.name, gpu.memory_gbps, gpu.compute_units) == ("AMD Instinct MI300X", 4900, 304)
    assert (gpu.matrix_tflops["f16"], gpu.matrix_tflops["f8"]) == (1000.0, 2614.9)
    assert gpu.sources["memory_gbps"].title == gpu.sources["matrix_tflops.f16"].title == "our measurement"
    assert gpu.sources["matrix_tflops.f8"].title.startswith("AMD Instinct MI300 series")
    assert gpu.methods == catalog.find_gpu("MI325X").methods
    assert len(catalog.gpus()) == len(GPUS)
    assert catalog.find_gpu("MI300X VF") == gpu


def test_a_user_adds_a_gpu(user_file: UserFile) -> None:
    user_file(
        """
        gfx = "gfx942"
        [sources.ours]
        title = "our measurement"
        [[sku]]
        name = "AMD Instinct MI308X"
        [sku.from.ours]
        compute_units = 80
        dies = 4
        clock_mhz = 1420
        memory_kind = "HBM3"
        memory_gbps = 5300
        memory_bytes = "192 GiB"
        vector_tflops = {f32 = 29.1}
        """
    )
    gpu = catalog.find_gpu("MI308X")
    assert (gpu.compute_units, gpu.vgprs_per_simd, gpu.memory_bytes) == (80, {64: 512}, 192 << 30)
    assert len(catalog.gpus()) == len(GPUS) + 1
    assert gpu.board_power_w is None


def test_the_folder_of_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROCM_PERF_GPUS")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "rocm-perf" / "gpus").mkdir(parents=True)
    (tmp_path / "rocm-perf" / "gpus" / "a.toml").write_text(USER)
    assert catalog.find_gpu("our card").memory_gbps == 4900


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("[sku.from.ours]\n", "", "memory_gbps has no source"),
        ("[sku.from.ours]", "[sku.from.theirs]", "names the source 'theirs', which [sources] does not have"),
        ("memory_gbps", "memory_speed", "memory_speed is not a field of a GPU"),
        ("4900", "0", "memory_gbps is 0, not a positive number"),
        ("4900", "-1.5", "memory_gbps is -1.5, not a positive number"),
        ("4900", "nan", "memory_gbps is nan, not a positive number"),
        ("4900", "inf", "memory_gbps is inf, not a positive number"),
        ("4900", "9" * 400, "memory_gbps is larger than any number of a GPU"),
        ("4900", "4_900_000", "memory_gbps is 4.9e+06, outside the physical range 10 to 50000"),
        ("f16 = 1000.0", "f16 = 1.0e15", "matrix_tflops.f16 is 1e+15, outside the physical range"),
        ("4900", '"fast"', "memory_gbps is wrong: Expected `float`, got `str`"),
        ("memory_gbps = 4900", "compute_units = 3.5", "compute_units is wrong: Expected `int"),
        (
            "memory_gbps = 4900",
            'memory_bytes = "192 GB"',
            "memory_bytes is '192 GB', not a size such as '64 KiB'",
        ),
        (
            "memory_gbps = 4900",
            "wave_sizes = [16]",
            "does not have one entry for each of the wave sizes (16,)",
        ),
        ('title = "our measurement"', 'name = "x"', "source 'ours'"),
        ('name = "AMD Instinct MI300X"\n', "", "sku has no name"),
        ('aliases = ["our card"]', "aliases = [1]", "aliases is not a list of names"),
        ('gfx = "gfx942"', "", "gfx is missing"),
        ('gfx = "gfx942"', 'gfx = "gfx1"\nvendor = "AMD"\nfamily = "new"', "MI300X cannot be a GPU of gfx1"),
        ('name = "AMD Instinct MI300X"', 'name = "My GPU"', "My GPU: compute_units is missing"),
        ("[sources.ours]", "speed = 3\n[sources.ours]", "speed is not a field of this file"),
        (
            "matrix_tflops",
            "[[sku]]\nname = 'AMD Instinct MI300X'\n[sku.from.ours]\nmatrix_tflops",
            "is given twice",
        ),
        (
            "matrix_tflops",
            "[sku.from.specs]\nmemory_gbps = 5000\nmatrix_tflops",
            "memory_gbps is given twice",
        ),
        ("[[sku]]", "[[method]]\nname = 'att'\nworks = 'maybe'\nsource = 'ours'\n[[sku]]", "works is wrong"),
        ("[[sku]]", "[sku]", "sku is not a list of tables: write [[sku]]"),
        ('gfx = "gfx942"', "gfx = ", "is not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused(user_file: UserFile, before: str, after: str, message: str) -> None:
    assert before in USER
    path = user_file(USER.replace(before, after, 1))
    with pytest.raises(InputError) as refusal:
        catalog.gpus()
    assert str(path) in str(refusal.value)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_bytes_that_are_no_text_are_refused(user_file: UserFile) -> None:
    user_file("").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="it is not UTF-8 text"):
        catalog.gpus()


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(GPUS), "run: python scripts/gpus_page.py"
