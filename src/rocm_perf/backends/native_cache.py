"""Where compiled native parts are kept, and whether what lies there can be trusted. A part is loaded into the user's
program: one that somebody else put there, or could have replaced, would run as the user."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from rocm_perf.errors import NotSupportedError

PRIVATE = 0o700
_ROOT_USER = 0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """The folder below which native parts are kept."""
    given = (os.environ if environment is None else environment).get("XDG_CACHE_HOME", "")
    root = Path(given) if given.startswith("/") else Path.home() / ".cache"
    return root / "rocm-perf" / "native"


def is_kept(part: Path) -> bool:
    """Whether an earlier run has left the part there. Refuses one that somebody else could have put there."""
    if not os.path.lexists(part):
        return False
    refuse_untrusted(part)
    return part.exists()


def make_private(folder: Path) -> None:
    """Make the folder, and those above it that are missing, for this user alone. Refuses one that others can change."""
    missing = [place for place in (folder, *folder.parents) if not os.path.lexists(place)]
    for place in reversed(missing):
        place.mkdir(mode=PRIVATE, exist_ok=True)
    refuse_untrusted(folder)


def refuse_untrusted(path: Path) -> None:
    """Raise where somebody other than this user and root could have made the path, or could replace it."""
    reason = distrust(path)
    if reason:
        raise NotSupportedError(
            f"{path} is not used",
            f"what lies there would run as you, and {reason}",
            "Correct that, or set XDG_CACHE_HOME to a folder of your own.",
        )


def distrust(path: Path) -> str:
    """Why a path cannot be trusted: the first place on the way to it that others own or can write to; empty if none."""
    try:
        return next(filter(None, map(_fault, _way_to(path))), "")
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle, before Python 3.13
        return f"it cannot be looked at: {error}"


def _way_to(path: Path) -> Iterator[Path]:
    """The path and the folders above it, as it is written and as its links lead."""
    absolute = path.absolute()
    resolved = absolute.resolve()
    yield from dict.fromkeys((absolute, *absolute.parents, resolved, *resolved.parents))


def _fault(place: Path) -> str:
    facts = place.lstat()
    if facts.st_uid not in (_ROOT_USER, os.geteuid()):
        return f"{place} belongs to {_user_name(facts.st_uid)}"
    is_shared_safely = stat.S_ISDIR(facts.st_mode) and facts.st_mode & stat.S_ISVTX  # as /tmp
    if stat.S_ISLNK(facts.st_mode) or is_shared_safely or not facts.st_mode & _OTHERS_WRITE:
        return ""
    return f"other users can write to {place} (mode {stat.S_IMODE(facts.st_mode):o})"


def _user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
