"""The scopes of JAX operations."""

from __future__ import annotations

import pytest

from rocm_perf.ingest.xplane.operations import untransformed


@pytest.mark.parametrize(
    ("scope", "module"),
    [
        ("layer0", "layer0"),
        ("jvp(layer0)", "layer0"),
        ("transpose(jvp(layer0))", "layer0 (backward)"),
        ("jvp(bsd,de->bse)", "bsd,de->bse"),
        ("jvp()", ""),
        ("transpose(jvp())", "(backward)"),
        ("jit(step)", "jit(step)"),
    ],
)
def test_a_module_is_named_without_the_transforms_of_its_gradient(scope: str, module: str) -> None:
    assert untransformed(scope) == module
