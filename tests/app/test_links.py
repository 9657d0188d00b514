"""Tests of short links over HTTP: normal form, pinned models, and hostile requests."""

from __future__ import annotations

import json
import re

import pytest

from app.store.jobs.record import digest_of
from app.wire.shared_links import FRAGMENT_CHARACTERS
from tests.app.conftest import change_row, submit, wait
from tests.app.schema import check

pytestmark = pytest.mark.each_database

PLACE = "v=1&screen=walk&model=sample:digits_cnn&stage=4&select=a+b&select=c%26d&pane=memory"


def post(client, fragment, **more):
    return client.post("/api/v1/links", json={"fragment": fragment}, **more)


def upload(client, data: bytes) -> str:
    raw = {"content_type": "application/octet-stream"}
    return client.post("/api/v1/uploads?name=m.onnx", data=data, **raw).get_json()["id"]


def data_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="link">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_a_link_has_the_described_shape_and_leads_back(client):
    made = post(client, PLACE)
    assert made.status_code == 201
    link = made.get_json()
    assert made.headers["Location"] == link["path"] == f"/s/{link['id']}"
    assert len(link["path"]) <= 12
    assert client.get(f"/api/v1/links/{link['id']}").get_json() == link
    description = client.get("/api/v1/openapi.json").get_json()
    check(link, description["components"]["schemas"]["SharedLink"], description)
    assert link["made_with"] == link["program"]


def test_the_same_state_has_the_same_link_whatever_the_order_and_the_job(client):
    one = post(client, f"{PLACE}&job=20260101-aa").get_json()
    two = post(client, "&".join(reversed(PLACE.split("&")[:5])) + "&select=c%26d&pane=memory")
    assert one["id"] == two.get_json()["id"]
    assert "job" not in one["fragment"]
    other_order = PLACE.replace("select=a+b&select=c%26d", "select=c%26d&select=a+b")
    assert post(client, other_order).get_json()["id"] != one["id"]


def test_the_page_of_a_link_holds_its_state(client):
    link = post(client, PLACE).get_json()
    page = client.get(link["path"])
    assert page.status_code == 200
    assert data_of(page.get_data(as_text=True)) == link
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]


def test_only_the_embedded_view_may_be_framed_and_nothing_else_is_opened_by_that(client):
    link = post(client, PLACE).get_json()
    page = client.get(f"/embed{link['path']}")
    assert page.status_code == 200
    assert data_of(page.get_data(as_text=True)) == link
    opened = page.headers["Content-Security-Policy"]
    assert (
        opened.replace("frame-ancestors *", "frame-ancestors 'none'")
        == (client.get("/").headers["Content-Security-Policy"])
    )
    assert "data-own" not in page.get_data(as_text=True)
    unknown = client.get("/embed/s/abcdefgh")
    assert unknown.status_code == 404
    assert data_of(unknown.get_data(as_text=True))["error"]["code"] == "E-REQUEST-UNKNOWN"


def test_the_page_of_an_unknown_link_says_so(client):
    page = client.get("/s/abcdefgh")
    assert page.status_code == 404
    assert page.mimetype == "text/html"
    assert data_of(page.get_data(as_text=True))["error"]["code"] == "E-REQUEST-UNKNOWN"
    assert client.get("/api/v1/links/abcdefgh").status_code == 404


def test_what_is_shared_is_never_markup(client):
    link = post(client, f"{PLACE}&at=%3C%2Fscript%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E").get_json()
    page = client.get(link["path"]).get_data(as_text=True)
    assert "<script>alert" not in page
    assert data_of(page) == link


@pytest.mark.parametrize(
    "fragment",
    [
        "", "v=1", "v=1&screen=walk", "model=sample:digits_cnn", "v=0&model=sample:digits_cnn",
        "v=x&model=sample:digits_cnn", "v=1&model=sample:digits_cnn&<b>=1",
        "v=1&model=sample:digits_cnn&at=<b>", "v=1&model=sample:digits_cnn&at=%FF",
        "v=1&model=sample:digits_cnn&UPPER=1", "v=1&model=sample:digits_cnn&at",
        "v=1&model=file:/etc/passwd", "v=1&model=digits_cnn", "v=1&model=sample:digits_cnn\n",
        "v=1&model=sample:digits_cnn" + "&open=1" * 2001, None, 3, ["v=1"], {"v": 1},
    ],
)  # fmt: skip
def test_what_is_no_state_of_the_page_is_refused(client, fragment):
    answer = post(client, fragment)
    assert answer.status_code == 400
    assert answer.get_json()["error"]["code"] == "E-REQUEST-BODY"


@pytest.mark.parametrize("body", [{}, {"fragment": PLACE, "id": "mine"}, [], "x", None])
def test_a_body_of_another_form_is_refused(client, body):
    assert client.post("/api/v1/links", json=body).status_code == 400


def test_a_state_that_is_too_long_is_refused_and_the_limit_is_named(client):
    long = PLACE + "&at=" + "a" * FRAGMENT_CHARACTERS
    answer = post(client, long)
    assert answer.status_code == 413
    message = answer.get_json()["error"]["message"]
    assert f"{FRAGMENT_CHARACTERS:,}" in message
    assert f"{len(long):,}" in message


def test_texts_that_the_address_holds_fit_a_short_link(client, repository):
    """The state has two texts of the maximum length, and many other fields."""
    script = (repository / "static" / "js" / "text" / "writing.js").read_text(encoding="utf-8")
    [limit] = re.findall(r"LINK_CHARACTERS = ([\d_]+);", script)
    held = int(limit)
    text = "%0A" * (held // 3)
    fragment = f"v=1&model=written&written=py:{text}&edited=3:{text}"
    fragment += "&select=a" * 1000
    made = post(client, fragment)
    assert made.status_code == 201
    assert made.get_json()["fragment"].count("%0A") == 2 * (held // 3)


def test_a_written_model_is_shared_by_its_text_alone(client):
    made = post(client, "v=1&model=written&written=py:def%20m(x):%20return%20x")
    assert made.status_code == 201
    assert post(client, "v=1&model=written").status_code == 400


def test_ids_of_jobs_beside_the_compilation_are_no_part_of_a_link(client):
    ids = [f"20260101-{digit * 20}" for digit in "123"]
    named = "&check={}&measured={}&tuning={}"
    one = post(client, PLACE + named.format(*ids)).get_json()
    two = post(client, PLACE + named.format(*reversed(ids))).get_json()
    assert one["id"] == two["id"] != post(client, PLACE).get_json()["id"]
    assert "2026" not in one["fragment"]
    assert "check=link&" in one["fragment"]


def test_a_link_that_is_refused_keeps_no_model(make_app):
    client = make_app(links_limit=1).test_client()
    store = client.application.extensions["uploads"]
    first, second = upload(client, b"m" * 60), upload(client, b"l" * 61)
    assert post(client, f"v=1&model=upload:{first}").status_code == 201
    answer = post(client, f"v=1&model=upload:{second}")
    assert answer.status_code == 507
    assert "1 of 1" in answer.get_json()["error"]["message"]
    assert [store.is_pinned(each) for each in (first, second)] == [True, False]
    assert post(client, f"v=1&model=upload:{first}").status_code == 201, (
        "the model is stored already"
    )


def test_of_two_models_both_are_kept_or_none(make_app):
    client = make_app(linked_models_bytes=100).test_client()
    store = client.application.extensions["uploads"]
    ids = [upload(client, data) for data in (b"m" * 60, b"l" * 61)]
    job = wait(client, submit(client, "fuse", model={"upload": ids[1]}, options={})["id"])
    answer = post(client, f"v=1&model=upload:{ids[0]}&other={job['id']}")
    assert answer.status_code == 507
    assert "needs 121" in answer.get_json()["error"]["message"]
    assert not any(store.is_pinned(each) for each in ids)


@pytest.mark.parametrize("model", ["sample:none", "upload:" + "0" * 64, "upload:../../etc/passwd"])
def test_a_link_to_a_model_that_is_not_there_is_refused(client, model):
    answer = post(client, f"v=1&model={model}")
    assert answer.status_code == 404
    assert answer.get_json()["error"]["code"] == "E-REQUEST-UNKNOWN"


def test_a_linked_model_stays_when_uploads_go(make_app):
    client = make_app(uploads_kept_bytes=100).test_client()
    digest = upload(client, b"m" * 60)
    link = post(client, f"v=1&model=upload:{digest}").get_json()
    assert post(client, f"v=1&model=upload:{digest}&stage=2").status_code == 201
    gone = upload(client, b"a" * 70)
    upload(client, b"b" * 70)
    assert client.get(f"/api/v1/uploads/{gone}").status_code == 404
    assert client.get(f"/api/v1/uploads/{digest}").get_json()["bytes"] == 60
    assert client.get(link["path"]).status_code == 200
    folder = client.application.extensions["uploads"].folder
    assert len(list(folder.glob(f"{digest}.onnx"))) == 1


def test_when_no_more_models_fit_the_link_is_refused_and_the_limit_is_named(make_app):
    client = make_app(linked_models_bytes=100).test_client()
    small, large = upload(client, b"m" * 60), upload(client, b"l" * 61)
    assert post(client, f"v=1&model=upload:{small}").status_code == 201
    answer = post(client, f"v=1&model=upload:{large}")
    assert answer.status_code == 507
    error = answer.get_json()["error"]
    assert error["code"] == "E-LINK-FULL"
    assert "100 bytes" in error["message"]
    assert post(client, f"v=1&model=upload:{small}&stage=1").status_code == 201


def test_a_link_remembers_what_is_compared_with(client):
    asked = {"kind": "compile", "model": {"sample": "digits_cnn"}, "pipeline": "fuse"}
    options = {"precision": "bf16", "threads": 2}
    job = wait(client, submit(client, "fuse", model=asked["model"], options=options)["id"])
    link = post(client, f"{PLACE}&other={job['id']}").get_json()
    assert "other=" not in link["fragment"]
    assert link["other"]["pipeline"] == "fuse"
    assert link["other"]["options"]["precision"] == "bf16"
    assert post(client, f"{PLACE}&other=20260101-{'0' * 20}").status_code == 404


def test_links_are_not_made_in_bulk(make_app):
    client = make_app(links_per_minute=3).test_client()
    answers = [post(client, f"{PLACE}&stage={i}") for i in range(4)]
    assert [a.status_code for a in answers] == [201, 201, 201, 429]
    assert answers[3].get_json()["error"]["code"] == "E-LIMIT-RATE"
    assert int(answers[3].headers["Retry-After"]) > 0


def test_an_address_may_not_fill_the_store_with_long_texts(make_app):
    client = make_app(links_bytes_per_day=300).test_client()
    text = f"{PLACE}&written=py:{'x' * 150}"
    assert post(client, text).status_code == 201
    refused = post(client, f"{text}y")
    assert refused.status_code == 429
    message = refused.get_json()["error"]["message"]
    assert "at most 300 bytes of links are accepted in 86,400 s from one address" in message
    assert post(client, text).status_code == 201, "the model is stored already"


def test_a_foreign_page_makes_no_links(client):
    answer = post(client, PLACE, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403


def test_a_job_that_has_done_just_this_is_given_when_that_is_wanted(client):
    done = wait(client, submit(client)["id"])
    request = {
        "kind": "compile", "model": {"sample": "digits_cnn"}, "pipeline": "default", "shapes": {},
        "options": {
            "target": "host", "precision": "f32", "threads": 1, "measure": True, "check": True,
            "accuracy": True, "seed": 0,
        },
        "tuned": "", "without": [],
    }  # fmt: skip
    change_row(client, done["id"], request=json.dumps(request), digest=digest_of(request))
    wanted = {"kind": "compile", "model": {"sample": "digits_cnn"}}
    assert client.post("/api/v1/jobs?reuse=1", json=wanted).get_json()["id"] == done["id"]
    assert client.post("/api/v1/jobs", json=wanted).get_json()["id"] != done["id"]
    assert client.post("/api/v1/jobs?reuse=2", json=wanted).status_code == 400
