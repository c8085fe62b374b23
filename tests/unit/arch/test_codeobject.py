"""Code objects that a real compiler wrote: what is read from them is what the compiler said."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from rocm_perf.arch.codeobject.fatbin import unpacked_lz4
from rocm_perf.arch.codeobject.model import CodeObject, Kernel
from rocm_perf.arch.codeobject.reader import image_of, read, walk
from rocm_perf.arch.codeobject.targets import MACHINES, arch_of, features_of
from rocm_perf.errors import InputError
from tests.bundle_amd import bundle, compressed
from tests.compile_amd import ARCHS, Compiler

CUDA = """
extern "C" __global__ void __launch_bounds__(256) shuffle(const float* in, float* out, int n) {
  __shared__ float tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n) out[threadIdx.x] = tile[255 - threadIdx.x];
}
"""


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler.of_this_run(tmp_path_factory)


def one(path: Path) -> CodeObject:
    (code_object,) = read(path)
    return code_object


def kernel(path: Path) -> Kernel:
    (compiled,) = one(path).kernels
    return compiled


@pytest.mark.native
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", ["vector_add", "tile_gemm", "spill", "half_fma"])
def test_resources_are_what_the_compiler_said(name: str, arch: str, compiler: Compiler) -> None:
    built = compiler.compile(name, arch)
    (said,) = built.remarks
    compiled = kernel(built.path)
    assert one(built.path).arch == arch
    assert compiled.name == said["Function Name"]
    assert compiled.vgprs == int(said["VGPRs"])
    assert (compiled.agprs or 0) == int(said.get("AGPRs", 0))
    assert compiled.sgprs == int(said["TotalSGPRs"])
    assert (compiled.vgpr_spills, compiled.sgpr_spills) == (
        int(said["VGPRs Spill"]),
        int(said["SGPRs Spill"]),
    )
    assert compiled.scratch_bytes == int(said["ScratchSize [bytes/lane]"])
    assert compiled.lds_bytes == int(said["LDS Size [bytes/block]"])
    assert compiled.wave_size == (64 if arch.startswith("gfx9") else 32)
    assert compiled.dynamic_stack is False
    assert compiled.code_bytes
    assert compiled.cu_mode is (None if arch.startswith("gfx9") else False)


def test_agprs_are_told_from_vgprs(compiler: Compiler) -> None:
    """The metadata of a unified file counts both as VGPRs."""
    built = compiler.compile("registers", "gfx942", "-DKEEP=90")
    (said,) = built.remarks
    compiled = kernel(built.path)
    assert (compiled.vgprs, compiled.agprs) == (int(said["VGPRs"]), int(said["AGPRs"]))
    assert compiled.agprs


def test_arguments(compiler: Compiler) -> None:
    compiled = kernel(compiler.compile("vector_add", "gfx942").path)
    assert [(item.offset, item.size_bytes, item.kind, item.address_space) for item in compiled.arguments] == [
        (0, 8, "global_buffer", "global"),
        (8, 8, "global_buffer", "global"),
        (16, 8, "global_buffer", "global"),
        (24, 4, "by_value", ""),
    ]
    assert (compiled.kernarg_bytes, compiled.max_workgroup_size) == (28, 256)


@pytest.mark.parametrize("abi", ["4", "5", "6"])
def test_abi_versions(abi: str, compiler: Compiler) -> None:
    built = compiler.compile("vector_add", "gfx90a", f"-mcode-object-version={abi}")
    code_object = one(built.path)
    assert (code_object.abi, code_object.arch, len(code_object.kernels)) == (f"v{abi}", "gfx90a", 1)


def test_features(compiler: Compiler) -> None:
    assert one(compiler.compile("vector_add", "gfx90a:sramecc+:xnack-").path).features == (
        "xnack-",
        "sramecc+",
    )
    assert one(compiler.compile("vector_add", "gfx90a").path).features == ()
    assert features_of(0x300, 1) == ("xnack+", "sramecc+")
    assert features_of(0x300, 0) == ()


OTHERS = (
    "gfx900 gfx906 gfx908 gfx950 gfx1030 gfx1036 gfx1103 gfx1150 gfx1153 gfx1200 gfx1201 gfx1250 gfx9-4-generic "
    "gfx11-generic"
)


@pytest.mark.parametrize("arch", OTHERS.split())
def test_architectures(arch: str, compiler: Compiler) -> None:
    assert one(compiler.compile("vector_add", arch).path).arch == arch


def test_every_architecture_has_one_number() -> None:
    assert len(set(MACHINES.values())) == len(MACHINES)
    assert (arch_of(0x54C), arch_of(0x3F), arch_of(0x4A), arch_of(0xFF)) == (
        "gfx942",
        "gfx90a",
        "gfx1151",
        None,
    )


def two_archs(compiler: Compiler) -> bytes:
    return bundle(
        {arch: compiler.compile("vector_add", arch).path.read_bytes() for arch in ("gfx942", "gfx1100")}
    )


@pytest.mark.parametrize("form", ["plain", "1 zlib", "1 zstd", "2 zlib", "2 zstd", "3 zstd"])
def test_bundles(form: str, compiler: Compiler, tmp_path: Path) -> None:
    data = two_archs(compiler)
    if form != "plain":
        version, method = form.split()
        data = compressed(data, int(version), method)
    path = tmp_path / "kernels.co"
    path.write_bytes(data)
    objects = read(path)
    assert [(item.index, item.arch) for item in objects] == [(0, "gfx942"), (1, "gfx1100")]
    assert objects[1].kernels == one(compiler.compile("vector_add", "gfx1100").path).kernels
    assert image_of(path, 1) == compiler.compile("vector_add", "gfx1100").path.read_bytes()
    assert "gfx1100" in objects[1].place


@pytest.mark.parametrize("version", [0, 2, 3])
def test_a_library_with_several_bundles(version: int, compiler: Compiler, tmp_path: Path) -> None:
    first, second = (
        two_archs(compiler),
        bundle({"gfx90a": compiler.compile("mfma", "gfx90a").path.read_bytes()}),
    )
    packed = [compressed(data, version) if version else data for data in (first, second)]
    fatbin = tmp_path / "fatbin"
    fatbin.write_bytes(packed[0] + bytes(-len(packed[0]) % 4096) + packed[1])
    library = compiler.host_library(tmp_path / "lib.so", {".hip_fatbin": fatbin})
    objects = read(library)
    assert [item.arch for item in objects] == ["gfx942", "gfx1100", "gfx90a"]
    assert [len(item.kernels) for item in objects] == [1, 1, 2]
    assert objects[2].place.startswith(".hip_fatbin, bundle 2")


def test_a_program_without_gpu_code(compiler: Compiler, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"x" * 100)
    with pytest.raises(InputError, match=r"neither a \.hip_fatbin"):
        read(compiler.host_library(tmp_path / "lib.so", {".mine": data}))


def test_what_a_bundle_holds_besides_code(tmp_path: Path) -> None:
    path = tmp_path / "x.co"
    path.write_bytes(bundle({"gfx942": b"BC\xc0\xde" + b"\0" * 60}))
    code_object = one(path)
    assert (code_object.kind, code_object.kernels) == ("unknown", ())
    assert code_object.unread
    assert "bitcode" in code_object.unread


@pytest.fixture(scope="module")
def nvcc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of what nvcc wrote."""
    tool = shutil.which("nvcc")
    if tool is None:
        pytest.skip("nvcc is not on this machine")
    folder = tmp_path_factory.mktemp("nvcc")
    (folder / "k.cu").write_text(CUDA)

    def make(name: str, *flags: str) -> None:
        argv = [tool, *flags, "-o", str(folder / name), str(folder / "k.cu")]
        subprocess.run(argv, check=True, capture_output=True, timeout=1800)

    both = ("-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=[sm_90,compute_90]")
    make("k.cubin", "-cubin", "-arch=sm_90")
    make("old.cubin", "-cubin", "-arch=sm_75")
    make("plain.fatbin", "-fatbin", *both, "--compress-mode=none")
    make("small.fatbin", "-fatbin", *both, "--compress-mode=size")
    make("lib.so", "-shared", *both)
    return folder


@pytest.mark.parametrize(("name", "arch"), [("k.cubin", "sm_90"), ("old.cubin", "sm_75")])
@pytest.mark.native
def test_cubins(name: str, arch: str, nvcc: Path) -> None:
    code_object = one(nvcc / name)
    (only,) = code_object.kernels
    assert (code_object.kind, code_object.arch, only.name) == ("NVIDIA cubin", arch, "shuffle")
    # 8 to 16 registers, whatever the release; the rest is fixed by the source.
    assert only.vgprs is not None
    assert 4 <= only.vgprs <= 24
    assert (only.lds_bytes, only.max_workgroup_size, only.kernarg_bytes) == (1024, 256, 20)
    assert [(item.offset, item.size_bytes) for item in only.arguments] == [(0, 8), (8, 8), (16, 4)]
    assert (only.vgpr_spills, only.sgprs, only.agprs) == (None, None, None)


@pytest.mark.parametrize("name", ["plain.fatbin", "small.fatbin", "lib.so"])
@pytest.mark.native
def test_fatbins(name: str, nvcc: Path) -> None:
    cubins = {item.arch: item for item in read(nvcc / name) if item.kernels}
    assert set(cubins) == {"sm_80", "sm_90"}
    assert cubins["sm_90"].kernels == one(nvcc / "k.cubin").kernels
    (ptx,) = (item for item in read(nvcc / name) if item.kind == "NVIDIA PTX")
    assert (ptx.arch, ptx.kernels) == ("compute_90", ())
    assert ptx.unread


@pytest.mark.native
def test_an_image_packed_with_lz4(nvcc: Path, tmp_path: Path) -> None:
    cubin = (nvcc / "k.cubin").read_bytes()
    path = tmp_path / "lz4.fatbin"
    path.write_bytes(fatbin_of(lz4_literals(cubin), len(cubin)))
    assert one(path).kernels == one(nvcc / "k.cubin").kernels


def fatbin_of(packed: bytes, unpacked_bytes: int) -> bytes:
    """A fat binary with one cubin for sm_90 that is packed with LZ4."""
    entry = bytearray(64)
    for form, offset, value in (
        ("<H", 0, 2), ("<I", 4, 64), ("<Q", 8, len(packed)), ("<I", 16, len(packed)), ("<I", 28, 90),
        ("<Q", 40, 0x2000), ("<Q", 56, unpacked_bytes),
    ):  # fmt: skip
        struct.pack_into(form, entry, offset, value)
    return struct.pack("<4sHHQ", b"\x50\xed\x55\xba", 1, 16, 64 + len(packed)) + bytes(entry) + packed


def lz4_literals(data: bytes) -> bytes:
    """An LZ4 block that repeats nothing."""
    more = len(data) - 15
    return b"\xf0" + b"\xff" * (more // 255) + bytes([more % 255]) + data


@pytest.mark.parametrize(
    ("packed", "content"),
    [
        (b"\x35abc\x03\x00\x20xy", b"abcabcabcabcxy"),  # 3 literals, 9 bytes from 3 before, 2 literals
        (b"\x1fa\x01\x00\x05\x10z", b"a" * 25 + b"z"),  # a length that goes on in the next byte
        (b"\x50hello", b"hello"),
    ],
)
def test_lz4_blocks(packed: bytes, content: bytes) -> None:
    assert unpacked_lz4(memoryview(packed), len(content), "x") == content


@pytest.mark.parametrize(
    ("packed", "size", "why"),
    [
        (b"\x35abc\x04\x00\x20xy", 14, "outside"),
        (b"\x35abc\x00\x00\x20xy", 14, "outside"),
        (b"\x3fabc\x03\x00\xff\xff\xff\x00", 14, "outside"),
        (b"\x35abc\x03", 14, "breaks off"),
        (b"\xf0\xff\xff", 14, "breaks off"),
        (b"\x50hello", 6, "size"),
    ],
)
def test_damaged_lz4_blocks(packed: bytes, size: int, why: str) -> None:
    with pytest.raises(InputError, match=why):
        unpacked_lz4(memoryview(packed), size, "x")


@pytest.mark.native
def test_images_for_other_gpus_are_not_unpacked(nvcc: Path) -> None:
    read_ones = [item for item, _ in walk(nvcc / "small.fatbin", lambda arch: arch == "sm_90")]
    assert {item.arch for item in read_ones} == {"sm_90"}


def test_a_part_of_a_file(compiler: Compiler, tmp_path: Path) -> None:
    image = compiler.compile("vector_add", "gfx90a").path.read_bytes()
    path = tmp_path / "program"
    path.write_bytes(b"#" * 100 + image + b"#" * 100)
    ((item, data),) = walk(path, lambda _: True, span=(100, len(image)))
    assert (item.arch, len(item.kernels), bytes(data)) == ("gfx90a", 1, image)
