"""Element types, by the names that frameworks use."""

from __future__ import annotations

# torch's scalar types, as its collectives record them; in bytes.
ELEMENT_BYTES = {
    "Byte": 1,
    "Char": 1,
    "Bool": 1,
    "Float8_e4m3fn": 1,
    "Float8_e5m2": 1,
    "Half": 2,
    "BFloat16": 2,
    "Short": 2,
    "Int": 4,
    "Float": 4,
    "Long": 8,
    "Double": 8,
}
