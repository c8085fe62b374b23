"""Whatever the text: it is understood, or refused with a reason."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import RocmPerfError
from rocm_perf.optimize.source.parse import parse
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.table import TRANSFORMS
from tests.properties import examples

TEXT = (Path(__file__).parents[4] / "testbed" / "layernorm_dynamic.cpp").read_bytes()
KNOWN = Setting(cause="unknown", arch="gfx942", wave=64)


@examples(times=0.5)
@given(
    st.integers(0, len(TEXT)),
    st.integers(0, 40),
    st.binary(max_size=3) | st.sampled_from([b"{", b"}", b"(", b"#if"]),
)
def test_torn_text_never_does_more_than_be_refused(position: int, gone: int, put_in: bytes) -> None:
    try:
        source = parse(TEXT[:position] + put_in + TEXT[position + gone :])
    except RocmPerfError:
        return
    for kernel in source.kernels:
        for transform in TRANSFORMS:
            for candidate in transform.candidates(source, kernel, KNOWN)[0]:
                assert parse(candidate.applied_to(source.text)).kernels
