"""The workers that a client has, and how it becomes known that they are gone for good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class Ended:
    """Why no worker will work again, and what to do about it."""

    what: str
    next_step: str


def _go_on() -> Ended | None:
    return None


@dataclass(frozen=True)
class Workers:
    """A client with workers. `ended` says why none of them will work again, or None as long as some may."""

    client: Client
    ended: Callable[[], Ended | None] = _go_on
