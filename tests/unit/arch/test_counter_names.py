"""Names that users write: what exists, what is meant, what exists elsewhere, and what is a slip."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.arch import counter_names
from rocm_perf.arch.counter_names import Alias, aliases, matching, resolve
from rocm_perf.arch.counters import counters, known_chips
from rocm_perf.errors import UsageError

MFMA = tuple(f"SQ_INSTS_VALU_MFMA_MOPS_{kind}" for kind in ("BF16", "F16", "F32", "F64", "F8", "I8"))


@pytest.mark.parametrize(
    ("name", "gfx", "means"),
    [
        ("L2CacheMiss", "gfx942", ("TCC_MISS_sum",)),
        ("L2CacheMiss", "gfx1100", ("GL2C_MISS_sum",)),
        ("L2CacheHitRate", "gfx90a", ("L2CacheHit",)),
        ("L2CacheHitRate", "gfx942", ("TCC_HIT_sum", "TCC_MISS_sum")),
        ("L2CacheHit", "gfx942", ("TCC_HIT_sum", "TCC_MISS_sum")),
        ("L2CacheHit", "gfx950", ("TCC_HIT_sum", "TCC_MISS_sum")),
        (
            "TCP_TCC_ATOMIC_REQ_sum",
            "gfx942",
            ("TCP_TCC_ATOMIC_WITH_RET_REQ_sum", "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum"),
        ),
        ("SQ_WAIT_INST_VALU", "gfx942", ("SQ_WAIT_INST_ANY",)),
        ("SQ_VALU_MFMA_MOPS", "gfx942", MFMA),
        ("TCC_EA_RDREQ_sum", "gfx942", ("TCC_EA0_RDREQ_sum",)),
        ("TCC_EA_WRREQ_64B_sum", "gfx950", ("TCC_EA0_WRREQ_64B_sum",)),
        ("TCC_EA0_RDREQ_sum", "gfx90a", ("TCC_EA_RDREQ_sum",)),
        ("TCC_EA0_WRREQ_32B_sum", "gfx942", ("TCC_EA0_WRREQ_sum", "TCC_EA0_WRREQ_64B_sum")),
        ("TCC_HIT_sum", "gfx1100", ("GL2C_HIT_sum",)),
        ("TCC_EA_RDREQ_sum", "gfx1100", ("GL2C_MC_RDREQ_sum",)),
        ("TCC_EA_RDREQ_sum", "gfx1201", ("GL2C_EA_RDREQ_sum",)),
        ("GL2C_HIT_sum", "gfx942", ("TCC_HIT_sum",)),
        ("SQ_LDS_BANK_CONFLICT", "gfx1100", ("SQC_LDS_BANK_CONFLICT",)),
        ("SQ_BUSY_CYCLES_sum", "gfx942", ("SQ_BUSY_CYCLES",)),
        ("TCC_HIT[3]", "gfx942", ("TCC_HIT",)),
    ],
)
def test_what_is_meant(name: str, gfx: str, means: tuple[str, ...]) -> None:
    resolved = resolve(name, gfx)
    assert (resolved.standing, resolved.means) == ("alias", means)
    assert resolved.why
    assert resolved.describe().startswith(f"{name} on {gfx} is {means[0]}")


def test_what_exists_is_left_alone() -> None:
    assert resolve("TCC_EA_RDREQ_sum", "gfx90a").standing == "exists"
    assert resolve("L2CacheHit", "gfx1100").means == ("L2CacheHit",)
    assert resolve("SQ_WAVES", "gfx942").describe() == ""


def test_what_exists_elsewhere() -> None:
    resolved = resolve("SQ_INSTS_VALU_ADD_F32", "gfx1100")
    assert (resolved.standing, resolved.means) == ("absent", ())
    assert resolved.elsewhere == ("gfx90a", "gfx940", "gfx941", "gfx942", "gfx950")
    assert resolved.describe() == (
        "SQ_INSTS_VALU_ADD_F32 does not exist on gfx1100: it does on gfx90a, gfx940, gfx941, gfx942, gfx950"
    )


def test_what_a_newer_release_has() -> None:
    resolved = resolve("L0CacheHit", "gfx1201", "7.0")
    assert (resolved.standing, resolved.why) == ("absent", "it does in ROCm 7.2.4, not in 7.0")
    assert resolve("L0CacheHit", "gfx1201", "7.2.4").standing == "exists"


def test_a_chip_without_definitions() -> None:
    assert "7.2 brings them: ask the machine" in resolve("SQ_WAVES", "gfx1151", "7.0").describe()
    assert resolve("SQ_WAVES", "gfx1151", "7.2").standing == "exists"
    assert resolve("SQ_WAVES", "gfx1151").standing == "exists"


@pytest.mark.parametrize(
    ("slip", "near"), [("SQ_WAVS", "SQ_WAVES"), ("sq_waves", "SQ_WAVES"), ("l2cachehit", "L2CacheHit")]
)
def test_a_slip_is_a_suggestion_never_a_correction(slip: str, near: str) -> None:
    resolved = resolve(slip, "gfx90a")
    assert (resolved.standing, resolved.means, resolved.nearest[0]) == ("unknown", (), near)
    assert f"is not a counter of any chip; similar names: {near}" in resolved.describe()


def test_an_alias_needs_all_that_it_means(monkeypatch: pytest.MonkeyPatch) -> None:
    half = Alias("Half", ("gfx*",), ("SQ_WAVES", "NOT_THERE"), "a trial")
    whole = Alias("Half", ("gfx*",), ("SQ_WAVES",), "another")
    monkeypatch.setattr(counter_names, "aliases", lambda: (half,))
    assert resolve("Half", "gfx942").standing == "unknown"
    monkeypatch.setattr(counter_names, "aliases", lambda: (half, whole))
    assert resolve("Half", "gfx942").why == "another"


def test_the_largest_instance_is_not_the_sum() -> None:
    resolved = resolve("SQ_BUSY_CYCLES_max", "gfx942")
    assert (resolved.standing, resolved.nearest[0]) == ("unknown", "SQ_BUSY_CYCLES")


def test_nothing_alike() -> None:
    assert resolve("temperature", "gfx942").describe() == "temperature is not a counter of any chip"
    assert len(resolve("x" * 1_000_000, "gfx942").describe()) < 200


def test_an_unknown_chip_is_refused() -> None:
    with pytest.raises(UsageError, match="no counters are known for 'gfx999'"):
        resolve("SQ_WAVES", "gfx999")


def test_every_alias_serves_some_chip_and_hides_no_counter() -> None:
    for alias in aliases():
        name = alias.name.replace("{}", "HIT_sum")
        served = [gfx for gfx in known_chips() if alias.meaning(name, gfx)]
        assert served, alias.name
        if "{}" not in alias.name:
            whys = {
                resolved.why for gfx in served if (resolved := resolve(alias.name, gfx)).standing == "alias"
            }
            assert alias.why in whys, f"{alias.name}: no chip comes to this entry"


@given(st.sampled_from(known_chips()), st.text(max_size=30))
def test_any_text_has_an_answer(gfx: str, text: str) -> None:
    resolved = resolve(text, gfx)
    assert set(resolved.means) <= counters(gfx).keys()
    assert (resolved.standing in ("exists", "alias")) == bool(resolved.means)


def test_wildcards() -> None:
    assert matching("TCC_EA*_RDREQ*B_sum", "gfx942") == ("TCC_EA0_RDREQ_32B_sum",)
    assert matching("tcc_*", "gfx942") == ()
