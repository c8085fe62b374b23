"""The kernels that are compared with their twins, each with arguments that reach its corners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tests.softgpu.launching import Array, Value

Three = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A kernel, its arguments, and how far its results may be from its twin's."""

    source: str
    kernel: str  # the symbol in the code object
    twin: str
    arguments: Callable[[np.random.Generator], Sequence[Value]]
    groups: Three
    block: Three = (256, 1, 1)
    ulps: int = 0  # of the results' type: exact where 0


def _case(
    source: str,
    name: str,
    arguments: Callable[[np.random.Generator], Sequence[Value]],
    groups: Three | int,
    block: Three | int = 256,
    *,
    symbol: str = "",
    ulps: int = 0,
) -> Case:
    return Case(
        source=source,
        kernel=symbol or name,
        twin=name,
        arguments=arguments,
        groups=groups if isinstance(groups, tuple) else (groups, 1, 1),
        block=block if isinstance(block, tuple) else (block, 1, 1),
        ulps=ulps,
    )


def _normal(rng: np.random.Generator, count: int, kind: str = "f4") -> Array:
    return rng.standard_normal(count).astype(kind)


def _wild(rng: np.random.Generator, count: int, kind: str) -> Array:
    """Numbers of all sizes, denormals, infinities, zeros and NaN among them."""
    info = np.finfo(kind)
    exponents = rng.uniform(info.minexp - info.nmant, info.maxexp, count)
    values: Array = np.ldexp(rng.uniform(-1, 1, count), exponents.astype(int)).astype(kind)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, info.max, info.tiny, info.smallest_subnormal]
    values[: len(special) ** 2] = np.repeat(np.array(special, kind), len(special))
    return values


def _wild_partner(rng: np.random.Generator, count: int, kind: str) -> Array:
    """The like, so that the special ones meet one another."""
    values = _wild(rng, count, kind)
    values[:100] = values[:100].reshape(10, 10).T.reshape(-1)
    return values


def _ints(rng: np.random.Generator, count: int, kind: str = "i4") -> Array:
    info = np.iinfo(kind)
    return np.asarray(rng.integers(info.min, info.max, count, dtype=kind, endpoint=True))


def _divisors(rng: np.random.Generator, count: int, kind: str) -> Array:
    values = _ints(rng, count, kind) >> rng.integers(0, np.iinfo(kind).bits, count).astype(kind)
    values[values == 0] = 7
    return np.asarray(values.astype(kind))


def _empty(count: int, kind: str = "f4") -> Array:
    return np.zeros(count, kind)


_N = 1000
_I = np.int32


def _sparse(rng: np.random.Generator) -> Sequence[Value]:
    rows = np.concatenate([[0], np.cumsum(rng.integers(0, 20, 300))]).astype("i4")
    count = int(rows[-1])
    columns = rng.integers(0, 300, count).astype("i4")
    return rows, columns, _normal(rng, count, "f8"), _normal(rng, 300, "f8"), _empty(300, "f8"), _I(300)


CASES: tuple[Case, ...] = (
    _case("arithmetic", "saxpy", lambda r: (np.float32(2.5), _normal(r, _N), _normal(r, _N), _I(_N)), 4),
    _case(
        "arithmetic",
        "axpby_float",
        lambda r: (np.float32(2.5), _normal(r, _N), np.float32(-0.3), _normal(r, _N), np.uint32(_N)),
        1,
        symbol="_Z5axpbyIfLi4EEvT_PKS0_S0_PS0_j",
    ),
    _case(
        "arithmetic",
        "axpby_double",
        lambda r: (
            np.float64(2.5),
            _normal(r, _N, "f8"),
            np.float64(-0.3),
            _normal(r, _N, "f8"),
            np.uint32(_N),
        ),
        2,
        symbol="_Z5axpbyIdLi2EEvT_PKS0_S0_PS0_j",
    ),
    _case(
        "arithmetic",
        "axpby_half",
        lambda r: (
            np.float16(2.5),
            _normal(r, _N, "f2"),
            np.float16(-0.3),
            _normal(r, _N, "f2"),
            np.uint32(_N),
        ),
        1,
        symbol="_Z5axpbyIDF16_Li4EEvT_PKS0_S0_PS0_j",
    ),
    _case(
        "arithmetic",
        "axpby_int",
        lambda r: (_I(25), _ints(r, _N), _I(-3), _ints(r, _N), np.uint32(_N)),
        2,
        symbol="_Z5axpbyIiLi2EEvT_PKS0_S0_PS0_j",
    ),
    _case(
        "arithmetic",
        "stencil",
        lambda r: (_normal(r, 96 * 50), _empty(96 * 50), _I(96), _I(50)),
        (6, 4, 1),
        (16, 16, 1),
    ),
    _case(
        "arithmetic",
        "gather",
        lambda r: (_normal(r, 500), r.integers(-9, 500, _N).astype("i4"), _empty(_N), np.int64(_N)),
        4,
    ),
    _case(
        "arithmetic",
        "divide",
        lambda r: (_wild(r, _N, "f4"), _wild_partner(r, _N, "f4"), _empty(_N), _empty(_N), _I(_N)),
        4,
    ),
    _case(
        "arithmetic",
        "divide_double",
        lambda r: (
            _wild(r, _N, "f8"),
            _wild_partner(r, _N, "f8"),
            _empty(_N, "f8"),
            _empty(_N, "f8"),
            _I(_N),
        ),
        4,
    ),
    _case(
        "arithmetic",
        "rounding",
        lambda r: ((_normal(r, _N) * 100).astype("f4"), _empty(4 * _N), _empty(_N, "i4"), _I(_N)),
        4,
    ),
    _case(
        "integers",
        "divide_int",
        lambda r: (_ints(r, _N), _divisors(r, _N, "i4"), _empty(4 * _N, "i4"), _I(_N)),
        4,
    ),
    _case(
        "integers",
        "divide_long",
        lambda r: (_ints(r, _N, "i8"), _divisors(r, _N, "i8"), _empty(4 * _N, "i8"), _I(_N)),
        4,
    ),
    _case(
        "integers",
        "bits",
        lambda r: (_ints(r, _N, "u4"), _ints(r, _N, "u4"), _empty(8 * _N, "u4"), _I(_N)),
        4,
    ),
    _case(
        "integers",
        "bytes",
        lambda r: (_ints(r, _N, "u1"), _ints(r, _N, "u1"), _empty(_N, "u1"), _empty(_N, "i1"), _I(_N)),
        1,
    ),
    _case(
        "integers",
        "shorts",
        lambda r: (_ints(r, _N, "i2"), _ints(r, _N, "u2"), _empty(_N, "i2"), _empty(_N, "u2"), _I(_N)),
        2,
    ),
    _case(
        "integers",
        "collatz",
        lambda r: (r.integers(1, 9999, 300).astype("u4"), _empty(300, "u4"), _I(300)),
        2,
    ),
    _case("integers", "choices", lambda r: (_ints(r, _N), _empty(_N, "i4"), _I(_N)), 4),
    _case("groups", "softmax", lambda r: (_normal(r, 8 * 300), _empty(8 * 300), _I(300)), 8, ulps=4),
    _case(
        "groups",
        "reduce",
        lambda r: (r.integers(0, 99, 9000).astype("f4"), _empty(8), _empty(1), _I(9000)),
        8,
    ),
    _case("groups", "reduce_waves", lambda r: (_normal(r, 512), _empty(512)), 2),
    _case("groups", "histogram", lambda r: (_ints(r, 20000, "u1"), _empty(256, "u4"), _I(20000)), 8),
    _case("groups", "scan", lambda r: (_ints(r, 1024), _empty(1024, "i4")), 4),
    _case(
        "groups",
        "transpose",
        lambda r: (_normal(r, 100 * 70), _empty(100 * 70), _I(100), _I(70)),
        (4, 3, 1),
        (32, 8, 1),
    ),
    _case(
        "groups",
        "matmul",
        lambda r: (_normal(r, 64 * 64), _normal(r, 64 * 64), _empty(64 * 64), _I(64)),
        (4, 4, 1),
        (16, 16, 1),
    ),
    _case("groups", "bitonic", lambda r: (_ints(r, 2048, "u4"),), 4),
    _case(
        "groups",
        "atomics",
        lambda r: (
            _ints(r, 3000),
            np.array([0, 0, 0, 0, -1, 0, 0, 0, 0], "i4"),
            _empty(3, "u8"),
            _empty(2, "f8"),
            _I(3000),
        ),
        12,
    ),
    _case(
        "narrow",
        "halves",
        lambda r: (
            _wild(r, 2 * _N, "f2"),
            _normal(r, _N, "f2") * np.float16(99),
            _empty(8 * _N, "f2"),
            _normal(r, _N),
            _I(_N),
        ),
        4,
    ),
    _case(
        "narrow",
        "pairs",
        lambda r: (_normal(r, 2 * _N, "f2"), _normal(r, 2 * _N, "f2"), _empty(8 * _N, "f2"), _I(_N)),
        4,
    ),
    _case(
        "narrow",
        "brains",
        lambda r: (_ints(r, 2 * _N, "u2") & 0xBFFF, _empty(2 * _N, "u2"), _normal(r, _N), _I(_N)),
        4,
    ),
    _case(
        "narrow",
        "widths",
        lambda r: (
            _normal(r, _N, "f8") * 1e5,
            _empty(_N),
            _empty(_N, "f2"),
            _empty(_N, "i4"),
            _empty(_N, "u4"),
            _empty(_N, "i8"),
            _I(_N),
        ),
        4,
    ),
    _case(
        "narrow",
        "from_integers",
        lambda r: (
            _ints(r, _N),
            _ints(r, _N, "i8"),
            _empty(4 * _N),
            _empty(2 * _N, "f8"),
            _empty(_N, "f2"),
            _I(_N),
        ),
        4,
    ),
    _case("private", "stack", lambda r: (_ints(r, 300), _empty(300, "i4"), _I(300)), 2),
    _case("private", "calls", lambda r: (_ints(r, 300), _empty(300, "i4"), _I(300)), 2),
    _case("private", "indirect", lambda r: (_ints(r, 300), _empty(300, "i4"), _I(300)), 2),
    _case("later", "mandelbrot", lambda r: (_empty(64 * 64), _I(64)), (4, 4, 1), (16, 16, 1)),
    _case("later", "crc", lambda r: (_ints(r, 6400, "u1"), _empty(200, "u4"), _I(200), _I(32)), 4, 64),
    _case("later", "spmv", _sparse, 2),
    _case("later", "layernorm", lambda r: (_normal(r, 2000, "f2"), _empty(2000, "f2"), _I(500)), 4, 128),
    _case("later", "xorshift", lambda r: (_ints(r, 500, "u8"), _empty(500, "f8"), _I(500)), 2),
    _case("later", "quant", lambda r: (_normal(r, 2000), _empty(2000, "i1"), _empty(4), _I(500)), 4, 64),
    _case("later", "nqueens", lambda r: (_empty(8, "i4"),), 1, 64),
)
