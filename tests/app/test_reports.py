"""Tests of reports: they contain the page's data, list omitted parts, and run no foreign code."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re

import pytest

from app.report.contents import KERNELS_WITH_CODE, contents
from app.report.findings import Finding, report_command
from app.report.kept import packed_once
from app.report.page import Packed
from compiler.errors import CompileError
from tests.app.conftest import submit, wait


def a_result(n_stages: int = 2, n_kernels: int = 1) -> dict:
    return {
        "stages": [{"stage": i, "graph_stage": i - i % 2} for i in range(n_stages)],
        "kernels": [
            {"kernel": i, "parts": ["loops"], "seconds": 0.001 * (i + 1)} for i in range(n_kernels)
        ],
    }


def answers_of(result: dict, size: int = 10):
    known = {"result": result, "beside": {"jobs": []}}
    return lambda path: known.get(path, {"text": "x" * size})


def test_small_results_are_held_whole():
    held = contents(answers_of(a_result(3, 2)))
    assert held.left_out == []
    assert {"result", "union", "provenance", "neighbours", "stages/0/delta"} <= set(held.answers)
    assert {"stages/2/steps?offset=0&limit=5000", "kernels/1/loops"} <= set(held.answers)
    assert "stages/2/diff?against=1&context=3" in held.answers
    assert "stages/1/delta" not in held.answers, "an unchanged stage has the previous graph"


def test_what_has_no_room_is_left_out_and_named():
    held = contents(answers_of(a_result(3, 2), size=1000), limit_bytes=12_000)
    assert held.n_bytes <= 12_000
    assert "stages/2/delta" in held.answers
    assert any(words.startswith("texts") for words in held.left_out)


def test_the_slowest_kernels_keep_their_code():
    n = KERNELS_WITH_CODE + 5
    held = contents(answers_of(a_result(1, n)))
    assert f"kernels/{n - 1}/loops" in held.answers
    assert "kernels/0/loops" not in held.answers
    assert any(str(n) in words for words in held.left_out)


def test_graphs_that_have_no_room_are_no_report():
    with pytest.raises(CompileError) as e:
        contents(answers_of(a_result(), size=1000), limit_bytes=500)
    assert e.value.code == "E-LIMIT-OUTPUT"
    assert "500 bytes" in e.value.message
    with pytest.raises(CompileError) as e:
        contents(lambda path: None)
    assert e.value.code == "E-RESULT-ABSENT"


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    """A bundled page, independent of the files in this clone."""
    from app.report import page

    folder = tmp_path / "site" / "dist"
    folder.mkdir(parents=True)
    for name in ("report.js", "main.css", "worker.js"):
        (folder / name).write_text(f"/* {name} */\n//# sourceMappingURL={name}.map\n")
    monkeypatch.setattr(page, "site_folder", lambda name: tmp_path / "site")
    return folder


def within(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.DOTALL)
    assert found, pattern
    return found[1]


def test_a_report_is_one_file_that_allows_itself_and_nothing_else(client, bundle):
    job = wait(client, submit(client, model={"sample": "digits_cnn"})["id"])
    place = "v=1&model=sample:digits_cnn&at=%3C/script%3E%3Cb%3E"
    query = {"fragment": place}
    answer = client.get(f"/api/v1/jobs/{job['id']}/report", query_string=query)
    assert answer.status_code == 200
    assert answer.mimetype == "text/html"
    assert "attachment" in answer.headers["Content-Disposition"]
    text = answer.get_data(as_text=True)
    policy = within(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert "default-src &#39;none&#39;" in policy
    for kind in ('script type="module"', "style"):
        body = within(rf"<{kind}>(.*?)</{kind.split()[0]}>", text)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"sha256-{digest}" in policy.replace("&#43;", "+").replace("&#34;", '"')
        assert "sourceMappingURL" not in body
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    about = json.loads(within(r'id="report">(.*?)</script>', text))
    assert about["fragment"].endswith("v=1")
    assert len(about["digest"]) == 64
    packed = within(r'id="answers">(.*?)</script>', text)
    answers = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert answers["result"] == client.get(f"/api/v1/jobs/{job['id']}/result").get_json()


def test_there_is_no_report_of_nothing(client, bundle):
    assert client.get("/api/v1/jobs/nothing/report").status_code == 404
    job = wait(client, submit(client)["id"])
    answer = client.get(f"/api/v1/jobs/{job['id']}/report?fragment=<b>")
    assert answer.status_code == 400


def test_without_a_bundle_there_is_no_page_to_report_with(client, bundle):
    job = wait(client, submit(client, model={"sample": "digits_cnn"})["id"])
    (bundle / "report.js").unlink()
    answer = client.get(f"/api/v1/jobs/{job['id']}/report")
    assert answer.status_code == 409
    assert "hatch_build" in answer.get_json()["error"]["hint"]


def test_what_other_jobs_have_found_is_held_whole_or_not_at_all():
    jobs = [
        {"id": "p", "kind": "place"},
        {"id": "c", "kind": "check"},
        {"id": "s", "kind": "schedule"},
    ]
    known = {
        "result": a_result(2, 1),
        "beside": {"jobs": jobs},
        "/jobs/c/numerics": {"rows": [{"values_stage": n} for n in (None, 4, 4, 7)]},
        "/jobs/p/placements": {
            "rows": [
                {"scheduler": "heft", "problem": None},
                {"scheduler": "x", "problem": {"code": "E"}},
            ]
        },
        "/jobs/p/placements/heft": {"text": "x" * 5_000},
    }

    def ask(path: str) -> dict:
        return known.get(path, {"text": ""})

    held = contents(ask)
    assert [job["id"] for job in held.answers["beside"]["jobs"]] == ["p", "c"]
    assert {"/platforms", "/jobs/p/placements/heft", "/jobs/c/numerics/7"} <= set(held.answers)
    assert "/jobs/p/placements/x" not in held.answers

    held = contents(ask, limit_bytes=4_000)
    assert [job["id"] for job in held.answers["beside"]["jobs"]] == ["c"]
    assert not [path for path in held.answers if path.startswith("/jobs/p")]
    assert any("place" in words for words in held.left_out)


def test_contents_are_packed_once_until_there_is_more_beside(tmp_path):
    made: list[int] = []

    def make() -> Packed:
        made.append(1)
        return Packed("packed", ["something"])

    first = packed_once(tmp_path, ["a"], make)
    assert packed_once(tmp_path, ["a"], make) == first == Packed("packed", ["something"])
    assert len(made) == 1
    packed_once(tmp_path, ["b", "a"], make)
    assert len(made) == 2
    (kept,) = tmp_path.iterdir()
    kept.write_text("damaged")
    packed_once(tmp_path, ["b", "a"], make)
    assert len(made) == 3


def test_reports_are_not_made_in_bulk(make_app, bundle):
    client = make_app(reports_per_minute=2).test_client()
    job = wait(client, submit(client, model={"sample": "digits_cnn"})["id"])
    answers = [client.get(f"/api/v1/jobs/{job['id']}/report") for _ in range(3)]
    assert [each.status_code for each in answers] == [200, 200, 429]
    assert "at most 2" in answers[2].get_json()["error"]["message"]
    folder = client.application.extensions["jobs"].find(job["id"]).folder
    assert len(list(folder.glob("report-*.json"))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "check",
        "check:seed=3",
        "place:platform=two-sockets,scheduler=min_cut,ahead=0,contention=false",
        "tune:budget_seconds=45,search=random,kernel=3",
        "profile:seconds=0.5,machine=true",
        "targets:kernel=2",
        "bisect:moved=0.25",
    ],
)
def test_what_is_found_besides_is_said_as_it_is_asked_for(text):
    found = Finding.of(text)
    assert str(found) == text
    request = found.asked.from_json("20260101-0", found.body).to_json()
    again = Finding.asked_for(json.loads(json.dumps(request)))
    assert again == found


@pytest.mark.parametrize("text", ["", "chekc", "export:stage=1", "place", "place:platform=/etc"])
def test_what_no_report_has_is_refused_before_anything_is_compiled(text):
    with pytest.raises(CompileError) as e:
        Finding.of(text)
    assert e.value.code == "E-OPTION-VALUE"


def test_the_command_of_a_report_has_all_that_is_beside_the_result():
    compiles = "compilarium compile './-a b.onnx' --precision bf16 --without fuse --shape x=1,2"
    check = {"kind": "check", "job": "20260101-0", "seed": 0}
    place = {"kind": "place", "job": "20260101-0", "platform": "gpu", "scheduler": "heft"}
    export = {"kind": "export", "job": "20260101-0", "stage": 1}
    found = report_command(compiles, [check, place, export, check])
    assert found == (
        "compilarium report './-a b.onnx' --precision bf16 --without fuse --shape x=1,2 "
        "--find check --find place:platform=gpu,scheduler=heft"
    )
    tuned = "compilarium compile m.onnx --database x.json  # file: /api/v1/jobs/1/tuning/schedules"
    assert report_command(tuned, [check]) == ""
