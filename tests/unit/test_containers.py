"""The compose file keeps to the Compose specification, and its commands to our own options."""

from __future__ import annotations

import argparse
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from jsonschema.validators import validator_for

from rocm_perf.cli.main import command_of
from rocm_perf.cli.suite import SuiteCommand

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker" / "docker-compose.profiling.yml"
AMD = ("profiling", "profile", "counters", "trace")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return found


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The official one, which check-jsonschema brings along."""
    pytest.importorskip("check_jsonschema", reason="the Compose schema comes with check-jsonschema")
    file = resources.files("check_jsonschema.builtin_schemas") / "vendor" / "compose-spec.json"
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_it_is_a_compose_file(compose: dict[str, Any], schema: dict[str, Any]) -> None:
    validator_for(schema)(schema).validate(compose)


@pytest.mark.parametrize("key", ["device", "cap_ad", "comand"])
def test_a_misspelt_key_would_be_noticed(compose: dict[str, Any], schema: dict[str, Any], key: str) -> None:
    services = {**compose["services"], "profile": {**compose["services"]["profile"], key: []}}
    with pytest.raises(jsonschema.ValidationError):
        validator_for(schema)(schema).validate({**compose, "services": services})


def test_the_services_have_what_a_profiler_needs(compose: dict[str, Any]) -> None:
    for name in AMD:
        service = compose["services"][name]
        assert service["devices"] == ["/dev/kfd", "/dev/dri"]
        assert service["cap_add"] == ["SYS_PTRACE", "SYS_ADMIN"]
        assert service["security_opt"] == ["seccomp=unconfined"]
        assert [group.split(":-")[1].rstrip("}") for group in service["group_add"]] == ["video", "render"]
        assert [volume.rsplit(":", 1)[1] for volume in service["volumes"]] == ["/work", "/traces"]


@pytest.mark.parametrize("name", [*AMD, "profile-nvidia"])
def test_its_command_is_one_of_ours(compose: dict[str, Any], name: str) -> None:
    service = compose["services"][name]
    given: list[str] = service["entrypoint"] + service["command"]
    program, verb, words = given[0], given[1], given[2:]
    assert program == "rocm-perf"
    parser = argparse.ArgumentParser(exit_on_error=False)
    command_of(verb).prepare_parser(parser)
    args = parser.parse_args(words)
    if verb != "doctor":
        assert args.output_directory == Path("/traces")
        assert args.app[:3] == ["--", "rocm-perf", "suite"]
        suite = argparse.ArgumentParser(exit_on_error=False)
        SuiteCommand().prepare_parser(suite)
        assert suite.parse_args(args.app[3:]).output == Path("/traces")


def test_an_application_with_options_of_its_own_reaches_the_verb(compose: dict[str, Any]) -> None:
    """`docker compose run profile python x.py --json` puts its words behind the entry point."""
    given: list[str] = compose["services"]["profile"]["entrypoint"] + ["python", "x.py", "--json"]
    parser = argparse.ArgumentParser()
    command_of(given[1]).prepare_parser(parser)
    args = parser.parse_args(given[2:])
    assert args.app == ["--", "python", "x.py", "--json"]
    assert args.json is False


def test_what_the_image_copies_is_here(compose: dict[str, Any]) -> None:
    build = compose["services"]["profile"]["build"]
    context = COMPOSE.parent / build["context"]
    dockerfile = (context / build["dockerfile"]).read_text()
    copied = [
        word for line in re.findall(r"^COPY (.+)$", dockerfile, re.MULTILINE) for word in line.split()[:-1]
    ]
    assert copied
    assert [word for word in copied if not (context / word).exists()] == []
    assert set(build["args"]) == set(re.findall(r"^ARG (\w+)", dockerfile, re.MULTILINE))
