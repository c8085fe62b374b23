"""The Julia examples are marked as not run, and differ only in how often they wait."""

from __future__ import annotations

from pathlib import Path

EXAMPLES = Path(__file__).parents[3] / "examples" / "julia"


def code(name: str) -> list[str]:
    lines = (EXAMPLES / name).read_text().splitlines()
    return [line.partition("#")[0].strip() for line in lines if line.partition("#")[0].strip()]


def test_both_are_marked_as_not_run() -> None:
    for name in ("jacobi_synced.jl", "jacobi_batched.jl"):
        assert "# Not run yet" in (EXAMPLES / name).read_text()
    assert "**Not run**" in (EXAMPLES / "README.md").read_text()


def test_the_twin_lacks_only_waits() -> None:
    """Their kernels are the same; the mended loop has no synchronisation, and reads the residual in a condition."""
    synced, batched = code("jacobi_synced.jl"), code("jacobi_batched.jl")
    kernel = slice(synced.index("function relax!(new, old)"), synced.index("function solve(steps)"))
    start = batched.index("function relax!(new, old)")
    assert synced[kernel] == batched[start : start + kernel.stop - kernel.start]
    assert "AMDGPU.synchronize()" in synced
    assert not any("synchronize" in line for line in batched)
    read = next(place for place, line in enumerate(batched) if line.startswith("residual = maximum"))
    assert batched[read - 1] == "if step % CHECK_EVERY == 0"
