"""How the user's programs are started. That all of it arrives is shown by tests/integration/test_surroundings.py."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rocm_perf import user_program


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (9, "SIGKILL"),
        (34, "SIGRTMIN"),
        (40, "SIGRTMIN+6"),
        (64, "SIGRTMAX"),
        (33, "signal 33"),
        (99, "signal 99"),
    ],
)
def test_every_signal_has_a_name(number: int, name: str) -> None:
    assert user_program.signal_name(number) == name


@pytest.mark.parametrize(
    ("status", "words"), [(-40, "was killed by SIGRTMIN+6"), (7, "failed with exit code 7")]
)
def test_how_a_program_failed(status: int, words: str) -> None:
    assert user_program.failure(status) == words


def test_what_a_user_sets_in_their_own_process_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_CTYPE", "de_DE.UTF-8")
    monkeypatch.setenv("MINE", "1")
    variables = user_program.environment()
    assert (variables["LC_CTYPE"], variables["MINE"]) == ("de_DE.UTF-8", "1")


@pytest.mark.parametrize("given", [{}, {"_RJEM_MALLOC_CONF": "narenas:1", "LC_CTYPE": "C.UTF-8"}])
def test_what_python_and_polars_set_is_not(given: dict[str, str]) -> None:
    code = "import polars; from rocm_perf.user_program import environment as ours; print(ours() == GIVEN)"
    code = code.replace("GIVEN", "__import__('ast').literal_eval(__import__('sys').argv[1])")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **given}
    argv = [sys.executable, "-c", code, repr(environment)]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
