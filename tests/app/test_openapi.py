"""Tests that the OpenAPI description lists all routes, and that answers have its shapes."""

from __future__ import annotations

import re

import pytest

from app.api import ROUTES
from tests.app.conftest import submit, wait
from tests.app.schema import check


@pytest.fixture
def description(client) -> dict:
    return client.get("/api/v1/openapi.json").get_json()


def routes_of(app) -> set[tuple[str, str]]:
    found = set()
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith("/api/"):
            path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule)
            found |= {(m, path) for m in rule.methods - {"HEAD", "OPTIONS"}}
    return found


def test_every_route_is_described_and_every_description_is_a_route(client, description):
    described = {
        (method.upper(), path) for path, item in description["paths"].items() for method in item
    }
    assert described == routes_of(client.application)


def test_the_description_is_complete(description):
    assert description["openapi"] == "3.1.0"
    ids = [op["operationId"] for item in description["paths"].values() for op in item.values()]
    assert len(ids) == len(set(ids)) == len(ROUTES)
    for path, item in description["paths"].items():
        for operation in item.values():
            assert operation["summary"].endswith("."), path
            named = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
            assert named == set(re.findall(r"\{(\w+)\}", path))
    names = set(description["components"]["schemas"])
    for reference in re.findall(r"#/components/schemas/(\w+)", str(description)):
        assert reference in names
    assert all(s["description"] for s in description["components"]["schemas"].values())


def answer_schema(description, method: str, path: str, status: int):
    responses = description["paths"][path][method]["responses"]
    media_type = "application/json" if status < 400 else "application/problem+json"
    return responses[str(status)]["content"][media_type]["schema"]


@pytest.mark.parametrize(
    "path", ["about", "samples", "pipelines", "operators", "platforms", "errors", "openapi.json"]
)
def test_facts_have_the_described_shape(client, description, path):
    payload = client.get(f"/api/v1/{path}").get_json()
    check(payload, answer_schema(description, "get", f"/api/v1/{path}", 200), description)


@pytest.mark.parametrize(
    "part",
    [
        "", "/result", "/stages/0/graph", "/stages/1/graph", "/stages/2/graph", "/stages/1/steps",
        "/stages/2/text", "/stages/1/diff", "/union",
    ],
)  # fmt: skip
def test_parts_of_a_result_have_the_described_shape(client, description, part):
    job = wait(client, submit(client)["id"])
    payload = client.get(f"/api/v1/jobs/{job['id']}{part}").get_json()
    path = "/api/v1/jobs/{job_id}" + re.sub(r"/stages/\d", "/stages/{stage}", part)
    # The requests of the odd worker are not valid requests.
    loose = {"options", "request"}
    check(payload, answer_schema(description, "get", path, 200), description, loose=loose)


def test_errors_have_the_described_shape(client, description):
    payload = client.get("/api/v1/jobs/nothing").get_json()
    schema = answer_schema(description, "get", "/api/v1/jobs/{job_id}", 404)
    check(payload, schema, description)
