"""Writes specimens.tsv anew from what the adapters read now; read the difference before you commit it."""

from __future__ import annotations

from rocm_perf.errors import RocmPerfError
from rocm_perf.ingest.load import load
from tests.conftest import SPECIMENS
from tests.golden.test_specimens import GOLDEN, TABLE, describe

COLUMNS = ("file", "format", "rows", "lost", "refused")


def main() -> None:
    rows = []
    for path in sorted(SPECIMENS.rglob("*")):
        name = str(path.relative_to(SPECIMENS))
        if not path.is_file() or name == "INDEX.md":
            continue
        try:
            entry = describe(load(path)) | {"refused": ""}
        except RocmPerfError as error:
            known = GOLDEN.get(name, {}).get("refused", "")
            words = str(error).replace(str(path), "").strip()[:70]
            entry = {
                "format": "",
                "rows": "",
                "lost": "",
                "refused": known if known and known in str(error) else words,
            }
        rows.append({"file": name, **entry})
    lines = ["\t".join(COLUMNS), *("\t".join(row[column] for column in COLUMNS) for row in rows)]
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
