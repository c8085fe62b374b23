"""Values that hurt whoever trusts a recording: numbers that overflow, times far apart, texts that a terminal obeys."""

from __future__ import annotations

from random import Random
from typing import Any

DEEP = "deeply-nested"  # replaced once the document is text, as Python will not write that deep
ESCAPES = (
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J", "\x9b31m", "\u202egnp.exe", "\u2066\u2069", "a\rb", "a\x08b",
    "[bold]x[/bold]", "[/]", "a|b", "`x`", "</script>", "=cmd|' /C calc'!A0", "'''\"\"\"\\", "\ud7ff\ufffe", "\u200f",
)  # fmt: skip
HOSTILE = (
    "", "0", "-1", "1.5", "1e30", "1e308", "-1e308", "1e400", "nan", "-inf", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
    "18446744073709551616", "9" * 400, "0x", "0xfffffffffffffffff", "null", "true", "[]", "{}",
    "Agent 99999999999999999999", "(1, 2, 3)",
    "1,234", '"', "'", ",", "\n", "\x00", "é\u2028", " 7 ", "٣", "%s", "a" * 9000, "2025-99-99 99:99:99", "gfx942",
    "0001-01-01T00:00:00", "../../../etc/passwd", "/dev/zero", *ESCAPES,
)  # fmt: skip
HOSTILE_JSON: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1, 10**400, 0.5, 1e308, -1e308,
    5e-324, -0.0, float("nan"), float("inf"), [], {}, [[]], [None], {"": None}, [1, "a", {}], DEEP,
)  # fmt: skip
HOSTILE_WORDS = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
_FAR_NS = 5 * 10**17  # two of them do not fit into 64 bits together with a usual time stamp


def other_number(value: int, random: Random) -> int:
    """A number that the format still allows in that place, but that makes durations negative, huge or equal."""
    return random.choice(
        (
            value + _FAR_NS,
            value - _FAR_NS,
            -value,
            value + 1,
            value - 1000,
            value * 1000,
            2**63 - 1 - value,
            0,
        )
    )
