"""Single numbers and facts of all ranks."""

from __future__ import annotations

from rocm_perf.analysis.reduction.tables import Tables


class Counts:
    """The summed numbers, by name, and what ranks say in words."""

    def __init__(self, tables: Tables) -> None:
        self._values: dict[str, int | None] = dict(tables["counts"].select("name", "value").iter_rows())
        self._ranks: dict[str, dict[str, int]] = {}  # fact -> what is said -> by how many ranks
        for fact, value, ranks in tables["facts"].sort("place").select("fact", "value", "ranks").iter_rows():
            self._ranks.setdefault(fact, {})[value] = ranks

    def sum(self, name: str) -> int:
        """The sum over the ranks that know the number; 0 where none does."""
        return self._values.get(name) or 0

    def known(self, name: str) -> int | None:
        """The sum; None where no rank knows the number."""
        return self._values.get(name)

    def fact(self, name: str) -> str | None:
        """What ranks say, joined where they differ; None where none says it."""
        return "; ".join(self.facts(name)) or None

    def facts(self, name: str) -> tuple[str, ...]:
        """What ranks say, each once, in the order of ranks."""
        return tuple(filter(None, self._ranks.get(name, {})))

    def fact_of_most(self, name: str) -> str | None:
        """What most ranks say; None where none says it."""
        return max(self._ranks.get(name, {}).items(), key=lambda said: said[1], default=(None, 0))[0]

    def rows(self) -> dict[str, int]:
        """The rows of each table whose rows have times."""
        prefix = "rows of "
        return {
            name.removeprefix(prefix): value or 0
            for name, value in self._values.items()
            if name.startswith(prefix)
        }
