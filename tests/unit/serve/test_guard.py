"""Which requests are refused, whatever they ask for."""

from __future__ import annotations

import pytest

from rocm_perf.serve.guard import LARGEST_BODY, LONGEST_TARGET, is_token, refusal

HOST = {"Host": "127.0.0.1:8000"}


def status(method: str = "GET", target: str = "/", **headers: str) -> int | None:
    refused = refusal(method, target, written(**headers))
    return refused.status if refused else None


def written(**headers: str) -> dict[str, str]:
    return HOST | {name.replace("_", "-"): value for name, value in headers.items()}


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:1", "LOCALHOST", "127.0.0.1"])
def test_our_own_names_are_answered_on_any_port(host: str) -> None:
    assert status(Host=host) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "127.0.0.1.evil.example:8000",
        "evil.example:127.0.0.1",
        "0.0.0.0:8000",
        "[::1]:8000",
    ],
)
def test_another_name_that_leads_here_is_refused(host: str) -> None:
    assert status(Host=host) == 421


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "get", ""])
def test_other_methods_are_refused(method: str) -> None:
    assert status(method) == 405


def test_pages_of_other_sites_are_refused() -> None:
    assert status(Origin="http://127.0.0.1:8000") is None
    assert status(Origin="http://evil.example") == 403
    assert status(Origin="null") == 403
    assert status(Origin="http://localhost:8000") == 403
    assert status(Sec_Fetch_Site="cross-site") == 403
    assert status(Sec_Fetch_Site="same-site") == 403
    assert status(Sec_Fetch_Site="same-origin") is None


def test_a_link_may_be_followed_but_not_framed() -> None:
    followed = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert status(Sec_Fetch_Dest="document", **followed) is None
    assert status(Sec_Fetch_Dest="iframe", **followed) == 403


def test_a_form_must_come_from_our_own_page() -> None:
    assert status("POST") == 403
    assert status("POST", Origin="http://evil.example") == 403
    assert status("POST", Origin="http://127.0.0.1:8000", Sec_Fetch_Site="cross-site") == 403
    assert status("POST", Origin="http://127.0.0.1:8000") is None


def test_sizes_are_bounded() -> None:
    ours = {"Origin": "http://127.0.0.1:8000"}
    assert status(target="/" + "a" * LONGEST_TARGET) == 414
    assert status("POST", Content_Length=str(LARGEST_BODY), **ours) is None
    for length in (str(LARGEST_BODY + 1), "-1", "many"):
        assert status("POST", Content_Length=length, **ours) == 413
    assert status("POST", Transfer_Encoding="chunked", **ours) == 413
    assert status("GET", Content_Length="1") == 413


def test_only_the_whole_token_is_right() -> None:
    assert is_token("abc", "abc")
    assert not any(is_token(given, "abc") for given in ("", "ab", "abcd", "ABC", "ab\udcff", "äbc"))
