"""The embedded store of a folder: one SQLite file, whose rows are only ever added. What fails leaves it as it was."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rocm_perf.bench.history.records import Phase, SavedRun, phase_from, run_from
from rocm_perf.errors import InputError, OutputError, RocmPerfError

FOLDER = Path(".rocm-perf")
FILE = "history.sqlite"
_APPLICATION = 0x524F4350  # "ROCP": tells our file from any other SQLite file
_VERSION = 1
_PATIENCE_S = 30.0  # for another process that is writing
_SCHEMA = """
CREATE TABLE runs (id INTEGER PRIMARY KEY, target TEXT NOT NULL, document TEXT NOT NULL);
CREATE INDEX runs_of_target ON runs (target, id);
CREATE TABLE phases (id INTEGER PRIMARY KEY, document TEXT NOT NULL);
"""


@dataclass(frozen=True)
class History:
    """The runs and phases that were kept in one folder."""

    folder: Path = FOLDER

    @property
    def path(self) -> Path:
        return self.folder / FILE

    def add_run(self, run: SavedRun) -> None:
        """Keep a result. Raises OutputError or InputError; nothing is half written then."""
        document = json.dumps({**run.result.to_json(), "self_tests": [asdict(one) for one in run.self_tests]})
        with self._writing() as database:
            database.execute(
                "INSERT INTO runs (target, document) VALUES (?, ?)", (run.result.target, document)
            )

    def add_phase(self, phase: Phase) -> None:
        """Keep the numbers of a phase."""
        with self._writing() as database:
            database.execute("INSERT INTO phases (document) VALUES (?)", (json.dumps(asdict(phase)),))

    def targets(self) -> list[str]:
        """Every target that has a run, the one measured last at the end."""
        rows = self._rows("SELECT target FROM runs GROUP BY target ORDER BY max(id)")
        return [target for (target,) in rows]

    def runs(self, target: str, last: int) -> list[SavedRun]:
        """The last runs of a target, the oldest first."""
        rows = self._rows(
            "SELECT id, document FROM runs WHERE target = ? ORDER BY id DESC LIMIT ?", target, last
        )
        return [self._decoded(number, text, run_from) for number, text in reversed(rows)]

    def phases(self) -> list[Phase]:
        """All phases, the oldest first."""
        rows = self._rows("SELECT id, document FROM phases ORDER BY id")
        return [self._decoded(number, text, phase_from) for number, text in rows]

    def _decoded(self, number: int, text: str, decode: Any) -> Any:
        try:
            return decode(json.loads(text))
        except (KeyError, TypeError, ValueError, RecursionError, RocmPerfError) as error:
            raise self._damaged(f"row {number} is not what was written ({error})") from error

    def _rows(self, statement: str, *values: object) -> list[Any]:
        if not self.path.exists():
            return []
        with self._opened() as database:
            return database.execute(statement, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot write {self.path}", error.strerror or str(error)) from error
        with self._opened() as database:
            database.execute("BEGIN IMMEDIATE")  # one writer at a time; the next one waits for it
            self._prepare(database)
            yield database
            database.execute("COMMIT")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The database, with everything that SQLite refuses as one line. What was not committed is undone."""
        try:
            database = sqlite3.connect(self.path, timeout=_PATIENCE_S, isolation_level=None)
            try:
                self._check(database)
                yield database
            finally:
                database.close()
        except sqlite3.OperationalError as error:
            why = f"{error} for {_PATIENCE_S:.0f} s" if "locked" in str(error) else str(error)
            raise OutputError(f"cannot use {self.path}", why, "It is as it was before.") from error
        except sqlite3.DatabaseError as error:
            raise self._damaged(str(error)) from error

    def _check(self, database: sqlite3.Connection) -> None:
        """Refuse a file that is not ours, or that a later release wrote."""
        database.execute("BEGIN")  # all three as they are at one moment: another process may be creating it
        ((application,),) = database.execute("PRAGMA application_id")
        ((version,),) = database.execute("PRAGMA user_version")
        ((tables,),) = database.execute("SELECT count(*) FROM sqlite_master")
        database.execute("COMMIT")
        if tables and application != _APPLICATION:
            raise self._damaged("it is another program's database")
        if version > _VERSION:
            raise InputError(f"cannot use {self.path}", "a later release wrote it", "Update rocm-perf.")

    def _prepare(self, database: sqlite3.Connection) -> None:
        """Create the tables in a new file."""
        ((version,),) = database.execute("PRAGMA user_version")
        if version == 0:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {_VERSION}")

    def _damaged(self, why: str) -> InputError:
        return InputError(
            f"cannot use {self.path}", why, "It is left as it is: move it away to start a new history."
        )
