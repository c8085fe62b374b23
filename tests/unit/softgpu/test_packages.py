"""The pinned runtimes: which there are, where they lie, and what is said where they are not."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from rocm_perf.errors import NotSupportedError, ToolAbsentError, UsageError
from rocm_perf.softgpu import fetch as fetching
from rocm_perf.softgpu import packages
from rocm_perf.softgpu.packages import folders_of, releases, root, runtime


def unpacked(cache: Path, release: str) -> dict[str, str]:
    """An environment whose cache has the folders of a release."""
    environment = {"XDG_CACHE_HOME": str(cache)}
    for folder in folders_of(release):
        libraries = packages.library_folder(root(environment) / folder)
        libraries.mkdir(parents=True)
        (libraries / "ld-linux-any.so.2").touch()
    return environment


def test_three_releases_are_pinned_for_both_architectures() -> None:
    assert releases() == ("7.2", "6.4", "6.1")
    for package in packages.packages():
        assert set(package.sha256) == {"amd64", "arm64"}, package
        assert all(len(digest) == 64 for digest in package.sha256.values())
    with pytest.raises(UsageError, match=r"known: 7\.2, 6\.4, 6\.1"):
        folders_of("5.0")


def test_a_release_that_is_not_here_says_which_command_gets_it(tmp_path: Path) -> None:
    with pytest.raises(ToolAbsentError, match=r"rocr-7\.2.*`rocm-perf emulate --fetch` gets it"):
        runtime("7.2", {"XDG_CACHE_HOME": str(tmp_path)})


@pytest.mark.parametrize(("glibc", "has_loader"), [((2, 36), True), ((2, 38), False)])
def test_an_older_c_library_is_replaced_and_a_newer_one_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, glibc: tuple[int, int], has_loader: bool
) -> None:
    monkeypatch.setattr(packages, "glibc", lambda: glibc)
    ready = runtime("6.4", unpacked(tmp_path, "6.4"))
    assert (ready.loader is not None) is has_loader
    assert any("c-library" in str(folder) for folder in ready.libraries) is has_loader
    assert "rocr-6.4" in str(ready.libraries[0])


@pytest.mark.parametrize(
    "sources",
    [
        "deb http://ubuntu.example/ubuntu noble main\ndeb [arch=amd64] http://mirror.example/debian bookworm main\n",
        "Types: deb\nURIs: http://security.example/debian-security http://mirror.example/debian\nSuites: trixie\n",
    ],
)
def test_the_mirror_is_that_of_the_machine(tmp_path: Path, sources: str) -> None:
    (tmp_path / "sources.list").write_text(sources)
    assert fetching.mirror({}, tmp_path) == "http://mirror.example/debian"
    assert fetching.mirror({fetching.MIRROR_VARIABLE: "http://own"}, tmp_path) == "http://own"


def test_a_machine_without_debians_archive_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(ToolAbsentError, match="Set ROCM_PERF_DEBIAN_MIRROR"):
        fetching.mirror({}, tmp_path)


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """An archive that sends a file for every package, with contents of its own; returns what was called."""
    called: list[Sequence[str]] = []

    def run(command: Sequence[str], folder: Path, seconds: float) -> None:
        called.append(command)
        if "download" in command:
            for wanted in command[command.index("download") + 1 :]:
                (folder / f"{wanted.replace('=', '_')}.deb").write_text("not what was pinned")

    monkeypatch.setattr(fetching, "_run", run)
    monkeypatch.setattr(fetching, "_need", lambda tools: None)
    return called


def test_a_file_with_another_digest_is_not_unpacked(tmp_path: Path, archive: list[Sequence[str]]) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path), fetching.MIRROR_VARIABLE: "http://mirror.example/debian"}
    with pytest.raises(NotSupportedError, match="another SHA-256 than the pinned one"):
        fetching.fetch(lambda text: None, environment)
    assert not any("dpkg-deb" in command for command in archive)
    assert not list(root(environment).iterdir())  # nothing half-made stays


def test_an_archive_that_refuses_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(command: Sequence[str], **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(
            command, 100, "", "W: old\nE: Version '1' for 'libc6' was not found\n"
        )

    monkeypatch.setattr(subprocess, "run", refused)
    monkeypatch.setattr(fetching, "_need", lambda tools: None)
    environment = {"XDG_CACHE_HOME": str(tmp_path), fetching.MIRROR_VARIABLE: "http://mirror.example/debian"}
    with pytest.raises(
        ToolAbsentError, match="cannot be had from Debian's archive: E: Version '1' for 'libc6'"
    ):
        fetching.fetch(lambda text: None, environment)
