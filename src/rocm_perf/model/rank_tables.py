"""The tables of several ranks: what they exchanged, and how far their clocks can be compared."""

from __future__ import annotations

from rocm_perf.model.column_kinds import GPU_SPAN, HOST_SPAN, WHERE, count, id_, real, text
from rocm_perf.model.columns import TableSchema

UNKNOWN_COLLECTIVE = "unknown"  # a kernel that carries out whichever collective it is told to

RANKS = (
    TableSchema(
        "collectives",
        "one collective or point-to-point communication, as one rank took part in it",
        (
            text("name", "all_reduce, broadcast, ..., or unknown", required=True),
            count("size_bytes", "bytes of this rank's input", "B"),
            count("output_bytes", "bytes of this rank's output, where they differ and are known", "B"),
            text("dtype", "element type"),
            text("group", "process group"),
            count("group_size", "ranks in the group"),
            id_("collective_id", "the same number on all ranks that took part, where they could be matched"),
            id_("peer", "rank at the other end of a point-to-point communication, or root"),
            text("algorithm", "ring, tree, ... and protocol, as the library names them: `RING_LL`"),
            text("sent_bytes", "JSON list: bytes sent to each rank of the group, where they differ"),
            *GPU_SPAN,
        ),
    ),
    TableSchema(
        "collective_calls",
        "one call on the host that asks for a collective, and what it is to send, where that is recorded",
        (
            text("name", "all_reduce, broadcast, ...", required=True),
            count("size_bytes", "bytes of this rank's input", "B"),
            count("output_bytes", "bytes of this rank's output, where they differ and are known", "B"),
            text("dtype", "element type"),
            text("group", "process group"),
            count("group_size", "ranks in the group"),
            id_("peer", "rank at the other end of a point-to-point communication, or root"),
            *HOST_SPAN,
        ),
    ),
    TableSchema(
        "clocks",
        "the clock of one process, and how its times were brought onto that of the others",
        (
            *WHERE,
            id_("domain", "times of processes in one domain compare"),
            real("offset_ns", "added to its times at the start of the recording", "ns"),
            real(
                "drift_ppm",
                "by how much its clock was slow, in nanoseconds per millisecond (parts per million)",
            ),
            real("error_ns", "what the ends of collectives still differ by: 95 % of them by less", "ns"),
            count("collectives", "collectives that the fit rests on"),
            text("basis", "collectives, hint, or shared (the clock of its machine)"),
            text("reason", "why it could not be brought onto the clock of the others"),
        ),
    ),
)
