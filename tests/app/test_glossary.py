"""The glossary: complete definitions, sources that exist, one home, and a page with anchors."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from flask.testing import FlaskClient

from app.assets import code
from app.glossary import SECTIONS, declared_sections, terms
from app.glossary.term import Term
from compiler.passes import PASSES

REPOSITORY = Path(__file__).resolve().parents[2]


class Page(HTMLParser):
    """The ids and the links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"] or "")
        if tag == "a":
            self.links.append(found.get("href") or "")


def test_the_terms_of_the_field_are_defined() -> None:
    wanted = "pass kernel contraction arena halo ULP fusion epilogue roofline rewrite launch"
    assert set(wanted.split()) <= {term.name for term in terms()}


def test_a_term_has_one_name_and_a_short_definition() -> None:
    names = [term.name for term in terms()]
    assert sorted(names) == sorted(set(names))
    for term in terms():
        assert not term.definition.endswith("."), term.name
        assert 3 < len(term.definition.split()) <= 25, term.name


def test_a_form_belongs_to_one_marked_term() -> None:
    owner: dict[str, str] = {}
    for term in terms():
        for form in term.all_forms if term.is_marked else ():
            assert owner.setdefault(form.lower(), term.name) == term.name, form


def test_the_sources_exist() -> None:
    sources = {path for term in terms() for path in re.findall(r"`([\w/.]+)`", term.source)}
    assert len(sources) > 30
    assert [path for path in sorted(sources) if not (REPOSITORY / path).exists()] == []


def test_forms_are_plurals_and_declared_forms() -> None:
    assert Term("pass", "").all_forms == ("pass", "passes")
    assert Term("near miss", "", forms=("near misses",)).all_forms[-1] == "near misses"
    assert Term("open size", "").id == "open-size"


def test_the_page_has_an_anchor_for_each_term_and_leads_back(client: FlaskClient) -> None:
    answer = client.get("/glossary")
    assert answer.status_code == 200
    page = Page(answer.text)
    assert len(page.ids) == len(set(page.ids))
    sections = (*SECTIONS, *declared_sections())
    assert {s.prefix + term.id for s in sections for term in s.terms} <= set(page.ids)
    assert {f"pass-{name}" for name in PASSES} <= set(page.ids)
    assert "/" in page.links
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert "<code>" in answer.text
    assert "`" not in answer.text


def test_the_playground_has_the_definitions_and_a_link(client: FlaskClient) -> None:
    text = client.get("/").text
    assert 'data-term="kernel" data-forms="kernel|kernels"' in text
    assert 'href="/glossary"' in text
    assert 'data-term="value"' not in text, "an everyday word is not marked"


def test_code_is_the_only_markup_of_a_definition() -> None:
    assert code("a `b` <i>`c`") == "a <code>b</code> &lt;i&gt;<code>c</code>"


def test_the_stage_that_no_pipeline_lists_is_a_term() -> None:
    assert "specialise" in {t.name for t in terms()} - set(PASSES)
