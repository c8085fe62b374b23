"""Not written yet."""

from rocm_perf.ingest.part import Adapter

ADAPTERS: tuple[Adapter, ...] = ()
