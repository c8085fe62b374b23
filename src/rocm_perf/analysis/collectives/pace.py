"""What holds a collective back. Bandwidth alone would mislead, as a small message is over before it matters: the time
is compared with what the link needs for the bytes and a fixed cost that no message is spared."""

from __future__ import annotations

from rocm_perf.model.results.communication import Pace

# A generous fixed cost within a machine: messages below 20 KB take 6 to 15 us in recordings of 4 and 8 MI300X.
LATENCY_NS = 100_000
FAR = 4  # times as long as link and fixed cost together: more than what protocols and sizes in between cost
_SMALL = 0.1  # of the fixed cost: what the link needs for a message whose size hardly matters
_NEAR = 0.5  # of what the link allows: 4 GB reach 0.70 on MI300X, 0.78 on A100 (ml-engineering, network/README.md)
_WORST_GBPS = 1.0  # of any transport: TCP over 10 Gbit/s


def pace(transfer_ns: float, *, moved_bytes: float, link_gbps: float, matched: bool) -> Pace:
    """What holds back a collective that takes `transfer_ns` to move so many bytes over each GPU's links.

    `matched`: the time is the shortest over its ranks, so that waiting for one another is not in it.
    """
    needed_ns = moved_bytes / link_gbps
    if _is_far(transfer_ns, needed_ns):
        waits = not matched and _is_far(transfer_ns, moved_bytes / _WORST_GBPS)
        return "slow" if matched else "waiting" if waits else "slow or waiting"
    if needed_ns >= _NEAR * transfer_ns:
        return "link"
    return "latency" if needed_ns < _SMALL * LATENCY_NS else "mixed"


def _is_far(transfer_ns: float, needed_ns: float) -> bool:
    return transfer_ns > FAR * (needed_ns + LATENCY_NS)
