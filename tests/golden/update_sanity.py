"""Writes sanity.tsv anew from what the checks say now; read every line that is new before you commit it."""

from __future__ import annotations

from rocm_perf.ingest.load import load
from tests.conftest import SPECIMENS
from tests.golden.test_sanity import TABLE, describe
from tests.golden.test_specimens import READABLE


def main() -> None:
    found = {name: describe(load(SPECIMENS / name)) for name in READABLE}
    lines = ["file\tfindings", *(f"{name}\t{words}" for name, words in found.items() if words)]
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
