"""Which requests are answered at all.

Other users of this machine, and pages of other sites in the user's own browser, can reach a port on loopback. They do
not know the token, and a page cannot forge the headers that the browser sets.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

OUR_NAMES = ("127.0.0.1", "localhost")
METHODS = ("GET", "HEAD", "POST")
LONGEST_TARGET = 8 << 10  # bytes of a path with its query: a comparison of some hundred runs
LARGEST_BODY = 64 << 10


@dataclass(frozen=True)
class Refusal:
    """Why a request is not answered."""

    status: HTTPStatus
    reason: str


_ELSEWHERE = Refusal(
    HTTPStatus.FORBIDDEN,
    "The request comes from another site. Open the address that rocm-perf serve printed.",
)


class Headers(Protocol):
    """The headers of a request; names are found in any spelling."""

    def get(self, name: str, default: str) -> str: ...

    def __contains__(self, name: str, /) -> bool: ...


def refusal(method: str, target: str, headers: Headers) -> Refusal | None:
    """Why a request is refused whatever it asks for; None if it is not."""
    if method not in METHODS:
        return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, f"Only {', '.join(METHODS)} are answered.")
    if len(target) > LONGEST_TARGET:
        return Refusal(HTTPStatus.REQUEST_URI_TOO_LONG, "The address is too long.")
    if host_name(headers) not in OUR_NAMES:
        # A name that an attacker's DNS leads here (DNS rebinding) stands in Host.
        return Refusal(
            HTTPStatus.MISDIRECTED_REQUEST, "This server answers to 127.0.0.1 and localhost alone."
        )
    if not _from_our_pages(method, headers):
        return _ELSEWHERE
    if not 0 <= _length(headers) <= (LARGEST_BODY if method == "POST" else 0):
        return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is too large.")
    return None


def host_name(headers: Headers) -> str:
    """The name in Host, without its port: through an SSH tunnel it may be another one than ours."""
    return headers.get("Host", "").partition(":")[0].lower()


def is_token(given: str, token: str) -> bool:
    """Whether the token is right, in a time that does not tell how much of it is."""
    return secrets.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())


def _from_our_pages(method: str, headers: Headers) -> bool:
    """Whether a page of ours, or the user, makes the request; older browsers do not say who."""
    origin, site = headers.get("Origin", ""), headers.get("Sec-Fetch-Site", "none")
    if origin and origin != f"http://{headers.get('Host', '')}":
        return False
    if method == "POST":
        return bool(origin) and site in ("same-origin", "none")
    followed = (
        headers.get("Sec-Fetch-Mode", "") == "navigate" and headers.get("Sec-Fetch-Dest", "") == "document"
    )
    return site in ("same-origin", "none") or followed


def _length(headers: Headers) -> int:
    if "Transfer-Encoding" in headers:
        return LARGEST_BODY + 1
    try:
        return int(headers.get("Content-Length", "0"))
    except ValueError:
        return -1
