"""One workload: a program that has a name, and how an entry of a catalogue describes it."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from rocm_perf.collect.request.configuration import Variables, variable_texts
from rocm_perf.errors import InputError

PLACE = "{catalogue}"  # in a command: the folder of the catalogue's file
ALL_GPUS = -1
_NAME = re.compile(r"\w[\w.+-]{0,99}")  # it names files and images


class Workload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A program that has a name."""

    name: str
    tags: tuple[str, ...] = ()
    description: str = ""
    command: tuple[str, ...] = ()
    env_vars: dict[str, str] = {}
    pass_env: tuple[str, ...] = ()  # variables of this shell that it needs, such as a token
    gpus: int = ALL_GPUS
    image: str = ""  # where its program is installed
    dockerfile: str = ""  # or how such an image is built
    device: str = ""  # sim:MI300X: the command is a workload file of the simulator
    timeout_s: float | None = None
    folder: str = ""  # of the catalogue's file


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A workload as a file has it, in our spelling or in that of models.json."""

    name: str
    tags: tuple[str, ...] = ()
    description: str = ""
    command: str | tuple[str, ...] = ()
    scripts: str = ""
    args: str = ""
    env_vars: Variables = {}
    pass_env: tuple[str, ...] = ()
    gpus: int | str | None = None
    n_gpus: int | str | None = None
    image: str = ""
    dockerfile: str = ""
    device: str = ""
    timeout_s: float | None = None
    timeout: float | None = None
    folder: str = ""


def workload_of(entry: Any, where: str, folder: str, *, strict: bool = False) -> Workload:
    """The workload that an entry describes; `where` is what an error calls it, and `strict` refuses unknown keys."""
    if strict and isinstance(entry, dict):
        _refuse_unknown(entry, where)
    try:
        read = msgspec.convert(entry, _Entry)
    except msgspec.ValidationError as error:
        raise InputError(f"{where} cannot be understood", str(error)) from error
    if not _NAME.fullmatch(read.name):
        raise InputError(
            f"{where}: {read.name[:40]!r} cannot name a workload",
            "it names files",
            "Use letters, digits and . _ + -",
        )
    home = read.folder or folder
    return Workload(
        name=read.name,
        tags=read.tags,
        description=read.description,
        command=tuple(word.replace(PLACE, home) for word in _command(read, where)),
        env_vars=variable_texts(read.env_vars),
        pass_env=read.pass_env,
        gpus=_gpus(read, where),
        image=read.image,
        dockerfile=read.dockerfile,
        device=read.device,
        timeout_s=_timeout(read, where),
        folder=home,
    )


def _refuse_unknown(entry: Mapping[str, Any], where: str) -> None:
    for key in entry:
        if key not in _Entry.__struct_fields__:
            near = difflib.get_close_matches(str(key), _Entry.__struct_fields__, n=1)
            raise InputError(
                f"{where} has an unknown key {key!r}", f"the nearest is {near[0]}" if near else ""
            )


def _command(read: _Entry, where: str) -> tuple[str, ...]:
    """The words of the command; `scripts` and `args`, as models.json has them, are run by bash."""
    try:
        if read.command:
            words = shlex.split(read.command) if isinstance(read.command, str) else read.command
            return tuple(words)
        if read.scripts:
            return ("bash", read.scripts, *shlex.split(read.args))
    except ValueError as error:
        raise InputError(f"{where}: its command cannot be split into words", str(error)) from error
    raise InputError(f"{where} ({read.name}) has no command", next_step="Write command = [...].")


def _gpus(read: _Entry, where: str) -> int:
    """How many GPUs it takes; -1, or nothing, means all of them."""
    given = next((value for value in (read.gpus, read.n_gpus) if value not in (None, "")), ALL_GPUS)
    try:
        number = ALL_GPUS if given == "all" else int(str(given))
    except ValueError as error:
        raise InputError(f"{where}: {given!r} is not a number of GPUs") from error
    if number < ALL_GPUS:
        raise InputError(f"{where}: {given!r} is not a number of GPUs", "-1 means all of them")
    return number


def _timeout(read: _Entry, where: str) -> float | None:
    """Seconds after which it is ended; models.json has 0 or -1 for never."""
    given = read.timeout_s if read.timeout_s is not None else read.timeout
    if given is None or (read.timeout_s is None and given <= 0):
        return None
    if not 0 < given < float("inf"):
        raise InputError(f"{where}: timeout_s has to be more than 0 seconds")
    return given
