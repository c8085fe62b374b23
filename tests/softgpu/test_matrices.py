"""Products by MFMA and WMMA against numpy: lanes load what AMD's guides say that they hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from tests.compile_amd import ARCHS, Compiler
from tests.softgpu.launching import Array, launch, load
from tests.softgpu.twins import CONTRACT, KERNELS

pytestmark = pytest.mark.softgpu
_DEPTH = 64
_CDNA, _RDNA = ("gfx90a", "gfx942"), ("gfx1100", "gfx1151")


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler.of_this_run(tmp_path_factory)


def _bfloat(values: Array) -> Array:
    return (values.view("u4") >> 16).astype("u2")


def _of_bfloat(words: Array) -> Array:
    return np.asarray((words.astype("u4") << 16).view("f4").astype("f8"))


def _of_float8(words: Array, fraction_bits: int, bias: int) -> Array:
    """E4M3 and E5M2 of gfx942: no infinities, and 0x80 is NaN."""
    exponent, fraction = (words & 0x7F) >> fraction_bits, words & ((1 << fraction_bits) - 1)
    significand = np.where(exponent > 0, fraction + (1 << fraction_bits), fraction).astype("f8")
    magnitude = np.ldexp(significand, np.maximum(exponent, 1).astype(int) - bias - fraction_bits)
    return np.asarray(np.where(words & 0x80, -magnitude, magnitude))


@dataclass(frozen=True)
class Product:
    kernel: str
    side: int
    archs: tuple[str, ...]
    made: Callable[[Array], Array]  # from float32
    left: Callable[[Array], Array]  # what the instruction takes it for, in double precision
    right: Callable[[Array], Array]
    result: str = "f4"
    bound: float = 0.0  # relative to the sum of the products' magnitudes

    def __str__(self) -> str:
        return self.kernel


def _double(values: Array) -> Array:
    return values.astype("f8")


_PRODUCTS = (
    Product("product_f16", 16, ARCHS, lambda x: x.astype("f2"), _double, _double, bound=2.0**-22),
    Product("product_bf16", 32, _CDNA, _bfloat, _of_bfloat, _of_bfloat, bound=2.0**-21),
    Product("product_bf16", 16, _RDNA, _bfloat, _of_bfloat, _of_bfloat, bound=2.0**-22),
    Product("product_f32", 32, _CDNA, lambda x: x, _double, _double, bound=2.0**-18),
    Product("product_f64", 16, _CDNA, _double, _double, _double, "f8", bound=2.0**-46),
    Product("product_i8", 16, ARCHS, lambda x: (x * 40).astype("i1"), _double, _double, "i4"),
    Product("product_half", 16, _RDNA, lambda x: x.astype("f2"), _double, _double, "f2", bound=2.0**-8),
    Product(
        "product_fp8",
        16,
        ("gfx942",),
        lambda x: np.clip(np.abs(x * 50), 0, 127).astype("u1"),
        lambda words: _of_float8(words, 3, 8),
        lambda words: _of_float8(words, 2, 16),
        bound=2.0**-22,
    ),
)


@pytest.mark.parametrize("level", ["-O0", "-O3"])
@pytest.mark.parametrize(
    ("product", "arch"), [(product, arch) for product in _PRODUCTS for arch in product.archs], ids=str
)
def test_products_are_those_of_numpy(product: Product, arch: str, level: str, compiler: Compiler) -> None:
    code = load(compiler.compile_file(KERNELS / "matrices.hip", arch, level, CONTRACT).path)
    rng = np.random.default_rng(5)
    a = product.made(rng.standard_normal((product.side, _DEPTH)).astype("f4"))
    b = product.made(rng.standard_normal((_DEPTH, product.side)).astype("f4"))
    empty = np.zeros((product.side, product.side), product.result)
    lanes = code.kernel(product.kernel).wave_size
    found = launch(code, product.kernel, (a, b, empty, np.int32(_DEPTH)), groups=1, block=lanes).arrays[2]
    left, right = product.left(a), product.right(b)
    error = np.abs(found.astype("f8") - left @ right)
    assert (error <= product.bound * (np.abs(left) @ np.abs(right))).all()


@pytest.mark.parametrize("arch", _CDNA)
def test_blocks_are_products_of_their_own(arch: str, compiler: Compiler) -> None:
    code = load(compiler.compile_file(KERNELS / "matrices.hip", arch, "-O3", CONTRACT).path)
    rng = np.random.default_rng(6)
    a = rng.integers(-9, 9, (16, 4, 8)).astype("f4")
    b = rng.integers(-9, 9, (16, 8, 4)).astype("f4")
    arguments = (a, b, np.zeros((16, 4, 4), "f4"), np.int32(8))
    found = launch(code, "product_blocks", arguments, groups=1, block=64).arrays[2]
    assert (found == a @ b).all()


def test_floats_of_8_bits_round_to_the_nearest(compiler: Compiler) -> None:
    code = load(compiler.compile_file(KERNELS / "matrices.hip", "gfx942", "-O3", CONTRACT).path)
    rng = np.random.default_rng(8)
    x = np.ldexp(rng.uniform(-1, 1, 512), rng.integers(-18, 8, 512)).astype("f4")
    x[:6] = [0, -0.0, 240, -240, 0.0625, 2.0**-10]
    arguments = (x, np.zeros(256, "u4"), np.zeros(1024, "f4"), np.int32(512))
    back = launch(code, "convert_fp8", arguments, groups=1, block=256).arrays[2].reshape(256, 2, 2)
    for kind, (fraction_bits, bias) in enumerate(((3, 8), (2, 16))):
        words = np.arange(256, dtype="u1")
        known = np.unique(_of_float8(words[words != 0x80], fraction_bits, bias))
        found, wanted = back[:, kind, :].reshape(-1).astype("f8"), x.astype("f8")
        nearest = np.abs(known[None, :] - wanted[:, None]).min(1)
        assert (np.abs(found - wanted) == nearest).all()
