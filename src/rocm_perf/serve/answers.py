"""A request and its answer, without sockets."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

HTML = "text/html; charset=utf-8"
JSON = "application/json"

# Our own pages: scripts and styles from files of ours, nothing from elsewhere, in nobody's frame.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# A report has a policy of its own that names the hash of its script; a header can only take from it.
REPORT_POLICY = (
    "object-src 'none'; connect-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)

ALWAYS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True)
class Request:
    """What a browser asks for, once it is known to be ours."""

    method: str
    place: tuple[str, ...]  # the path behind the token
    query: dict[str, list[str]]  # of the address, or of the form that was sent
    host: str
    root: str  # "/TOKEN/"
    known_tag: str = ""  # the version that the browser has


@dataclass(frozen=True)
class Answer:
    """What the browser gets: bytes, or a file."""

    body: bytes | Path = b""
    type: str = HTML
    status: HTTPStatus = HTTPStatus.OK
    policy: str = POLICY
    headers: dict[str, str] = field(default_factory=dict)


def page(text: str, status: HTTPStatus = HTTPStatus.OK, policy: str = POLICY) -> Answer:
    """A page of ours."""
    return Answer(text.encode("utf-8", "replace"), status=status, policy=policy)


def tagged(answer: Answer, request: Request) -> Answer:
    """The answer with a tag of its content; without the content where the browser has it already."""
    assert isinstance(answer.body, bytes)
    tag = f'"{hashlib.blake2b(answer.body, digest_size=12).hexdigest()}"'
    if request.known_tag == tag:
        return Answer(status=HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})
    return Answer(answer.body, answer.type, answer.status, answer.policy, {**answer.headers, "ETag": tag})


def moved_to(place: str) -> Answer:
    """A redirection after a form was sent."""
    return Answer(status=HTTPStatus.SEE_OTHER, headers={"Location": place})
