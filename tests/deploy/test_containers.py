"""Tests of the image and of the compose file: paths, commands, settings, and the sandbox inside."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from app import create_app
from app.config import Settings
from app.configuration import IN_FILE, PREFIX, read_configuration
from app.jobs.supervisor_process import STOP_S
from app.serve import completed, is_local, require_protection
from hatch_build import SITE
from tests.deploy.commands import DEPLOY, REPOSITORY, parse
from tests.deploy.yaml_subset import Reader

Instruction = tuple[str, str]
TOP = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def instructions() -> list[Instruction]:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = []
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        name, _, rest = line.partition(" ")
        found.append((name, rest.strip()))
    return found


def values(name: str) -> list[str]:
    return [rest for each, rest in instructions() if each == name]


def runs() -> list[list[str]]:
    """The commands of all RUN instructions, as words."""
    return [shlex.split(part) for rest in values("RUN") for part in re.split(r"&&|;", rest) if part]


def environment() -> dict[str, str]:
    words = [word for rest in values("ENV") for word in shlex.split(rest)]
    return dict(word.split("=", 1) for word in words)


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return Reader((DEPLOY / "compose.yaml").read_text(encoding="utf-8")).document()


def test_the_image_has_everything_that_the_wheel_is_built_from() -> None:
    copied = {
        word
        for rest in values("COPY")
        if not rest.startswith("--from")
        for word in rest.split()[:-1]
    }
    assert [name for name in sorted(copied) if not (REPOSITORY / name).exists()] == []
    packages = set(TOP["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    assert packages <= copied
    assert {name.partition("/")[0] for name in SITE} <= copied
    needed = {"pyproject.toml", "hatch_build.py", "package.json", "package-lock.json", ".npmrc"}
    assert needed | {TOP["project"]["readme"], "setup/serve.txt", "setup/pyodide"} <= copied


def test_every_command_of_the_build_exists() -> None:
    python = "/opt/compilarium/bin/"
    assert any(words[:3] == ["python3", "-m", "venv"] for words in runs())
    for words in runs():
        if words[0] == f"{python}python" and words[1] == "-m":
            assert importlib.util.find_spec(words[2]), words
        elif words[0] == f"{python}pip" and words[1] == "install":
            assert "--require-hashes" in words or "--no-deps" in words, words
        for extras in re.findall(r"\.\[([\w,]+)\]", " ".join(words)):
            assert set(extras.split(",")) <= TOP["project"]["optional-dependencies"].keys()
    removed = {word for w in runs() if w[1:2] == ["uninstall"] for word in w[3:]}
    required = {re.split(r"[<>=~\[; ]", each)[0] for each in TOP["project"]["dependencies"]}
    assert removed
    assert not removed & required
    lock = (REPOSITORY / "setup" / "serve.txt").read_text(encoding="utf-8")
    assert removed <= set(re.findall(r"(?m)^([\w.-]+)==", lock))


def test_the_last_stage_isolates_and_is_not_root() -> None:
    found = instructions()
    last = max(i for i, (name, _) in enumerate(found) if name == "FROM")
    stage = found[last:]
    assert all("debian:12-slim" in rest for name, rest in found if name == "FROM")
    (user,) = (rest for name, rest in stage if name == "USER")
    installed = " ".join(rest for name, rest in stage if name == "RUN")
    assert re.search(rf"useradd .*--uid 10001 .*\b{user}\b", installed)
    assert re.search(r"install .*\bbubblewrap\b.*\btini\b", installed)
    assert [name for name, _ in stage].index("USER") < [n for n, _ in stage].index("ENTRYPOINT")


def test_the_command_of_the_image_and_its_health_check(tmp_path: Path) -> None:
    (entry,), (command,), (health,) = values("ENTRYPOINT"), values("CMD"), values("HEALTHCHECK")
    start = json.loads(entry)
    assert start[-1] == "compilarium"
    assert parse(json.loads(command)).command.name == "command"
    program = json.loads(health[health.index("CMD") + 4 :])
    compile(program[2], "health check", "exec")
    port, path = re.search(r"127\.0\.0\.1:(\d+)(/\w+)", program[2]).groups()
    assert int(port) == Settings().port == int(*values("EXPOSE"))
    rules = create_app({"data_folder": tmp_path}).url_map.bind("localhost")
    assert rules.match(path, "GET")


def settings_of(service: Mapping[str, Any], tmp_path: Path) -> Settings:
    """The settings that a service of the compose file has in the image."""
    url = tmp_path / "url"
    url.write_text("postgresql+psycopg://compilarium:secret@database/compilarium\n")
    variables = {**environment(), **service.get("environment", {})}
    name = f"{PREFIX}DATABASE_URL{IN_FILE}"
    assert variables[name] == "/run/secrets/database_url"
    variables[name] = str(url)
    assert all(isinstance(value, str) for value in variables.values()), "YAML knows other types"
    words = parse(service["command"]).params
    options = {key: value for key, value in words.items() if key in Settings.__slots__}
    return read_configuration(options, variables).settings


def test_the_services_have_acceptable_settings(compose: dict[str, Any], tmp_path: Path) -> None:
    web = settings_of(compose["services"]["web"], tmp_path)
    require_protection(completed(web))
    assert (web.host, web.supervisor, web.trusted_proxies) == ("0.0.0.0", "outside", 1)
    work = settings_of(compose["services"]["work"], tmp_path)
    assert (work.data_folder, work.database_url) == (web.data_folder, web.database_url)
    url = make_url(web.database_url)
    database = compose["services"]["database"]["environment"]
    assert (url.host, url.username, url.database) == (
        "database",
        database["POSTGRES_USER"],
        database["POSTGRES_DB"],
    )
    assert url.get_backend_name() == "postgresql"


def test_only_a_proxy_of_the_machine_reaches_the_services(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert [name for name, each in services.items() if "ports" in each] == ["web"]
    for published in services["web"]["ports"]:
        address, _, inside = published.rsplit(":", 2)
        assert is_local(address)
        assert int(inside) == Settings().port


def test_all_named_parts_are_declared(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert services.keys() == {"database", "web", "work"}
    assert services["work"]["deploy"] == {"replicas": 2}
    for service in services.values():
        names = {each.partition(":")[0] for each in service["volumes"]}
        assert names <= compose["volumes"].keys()
        assert set(service["secrets"]) <= compose["secrets"].keys()
    for name in ("web", "work"):
        service = services[name]
        assert (DEPLOY / service["build"]["context"]).resolve() == REPOSITORY
        assert (REPOSITORY / service["build"]["dockerfile"]).is_file()
        places = {each.partition(":")[2] for each in service["volumes"]}
        variables = environment()
        assert {variables["COMPILARIUM_DATA_FOLDER"], variables["COMPILARIUM_CACHE"]} == places
        assert service["depends_on"]["database"] == {"condition": "service_healthy"}
        assert int(service["stop_grace_period"].removesuffix("s")) > STOP_S
        assert service["restart"] == "unless-stopped"


def test_a_container_has_what_bubblewrap_needs_and_no_privileges(compose: dict[str, Any]) -> None:
    for name in ("web", "work"):
        service = compose["services"][name]
        options: Sequence[str] = service["security_opt"]
        assert set(options) == {
            "no-new-privileges:true",
            "seccomp=./seccomp.json",
            "systempaths=unconfined",
            "apparmor=unconfined",
        }
        assert service["cap_drop"] == ["ALL"]
        assert not {"privileged", "cap_add", "user"} & service.keys()
        assert service["read_only"] is True


@pytest.mark.parametrize(
    "text",
    ["a: 1\n  b: 2", "a: {b: 1}", "- a\n- - b", "a: |\n  text", "a: 1\na: 2", "a: 'x'", "a"],
)
def test_the_reader_of_yaml_refuses_what_it_does_not_know(text: str) -> None:
    with pytest.raises(ValueError, match=r"line \d"):
        Reader(text).document()


def test_the_reader_of_yaml_reads_mappings_lists_and_merges() -> None:
    text = 'x: &base\n  a: 1\n  b:\n    - u\n    - "v"\n# c\ny:\n  <<: *base\n  a: true\nz:\n'
    assert Reader(text).document() == {
        "x": {"a": 1, "b": ["u", "v"]},
        "y": {"a": True, "b": ["u", "v"]},
        "z": None,
    }
