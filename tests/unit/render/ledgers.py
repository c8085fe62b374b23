"""Small ledgers made by hand."""

from __future__ import annotations

from rocm_perf.model.results.ledger import Certainty, Entry, EntryKind, GpuLedger, Ledger


def entry(
    kind: EntryKind,
    cause: str,
    total_ns: int,
    place: str = "",
    *,
    family: str = "",
    certainty: Certainty = "measured",
    of: int = 1000,
) -> Entry:
    """An entry of a ledger of so many nanoseconds."""
    return Entry(
        kind=kind,
        cause=cause,
        place=place,
        total_ns=total_ns,
        count=1,
        share=total_ns / of,
        certainty=certainty,
        family=family,
    )


def kernel_entry(place: str, total_ns: int, family: str = "gemm", of: int = 1000) -> Entry:
    return entry("kernel", "running", total_ns, place, family=family, of=of)


def ledger(*gpus: tuple[Entry, ...]) -> Ledger:
    """The ledger of GPUs with these entries; entries of all are listed one by one."""
    each = tuple(
        GpuLedger(0, agent_id, sum(entry.total_ns for entry in entries), entries)
        for agent_id, entries in enumerate(gpus)
    )
    entries = sorted((entry for own in gpus for entry in own), key=lambda one: -one.total_ns)
    return Ledger(judged_ns=sum(gpu.judged_ns for gpu in each), entries=tuple(entries), gpus=each)


# A step of 1000 ns: half of it in kernels of two families, the rest in a copy and in idle time of four causes.
EXAMPLE = ledger(
    (
        kernel_entry("gemm_a", 300),
        kernel_entry("gemm_b", 100),
        kernel_entry("add", 85, "elementwise"),
        kernel_entry("tiny", 15, "softmax"),
        entry("copy", "copying-to-gpu", 60, "H2D"),
        entry("fill", "filling", 4),
        entry("idle", "launching", 400, certainty="inferred"),
        entry("idle", "waiting-for-gpu", 21, "hipStreamSynchronize"),
        entry("idle", "end-of-work", 10, certainty="unknown"),
        entry("idle", "mpi", 5, "MPI_Allreduce"),
    )
)
