"""Tests of the Markdown of lessons: its markup, and that nothing of a lesson becomes markup."""

from __future__ import annotations

import pytest

from app.learn.markdown import Markdown


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("one\ntwo\n\nthree", "<p>one two</p><p>three</p>"),
        ("### A `b`", "<h3>A <code>b</code></h3>"),
        ("- one\n- two\n  more", "<ul><li>one</li><li>two more</li></ul>"),
        ("1. one\n2. two", "<ol><li>one</li><li>two</li></ol>"),
        ("> said\n> so", "<blockquote><p>said so</p></blockquote>"),
        ("**a** and *b*", "<p><strong>a</strong> and <em>b</em></p>"),
        ("2 * 3 * 4", "<p>2 * 3 * 4</p>"),
        ("a **b `c`**", "<p>a <strong>b <code>c</code></strong></p>"),
        ("```\na < b\n```", '<pre class="plain-code" tabindex="0"><code>a &lt; b</code></pre>'),
        ("{{a.b|ratio}}", '<p><span class="figure" data-figure="a.b|ratio">…</span></p>'),
    ],
)
def test_each_form_has_its_markup(text: str, markup: str) -> None:
    assert _tight(Markdown().render(text)) == markup


def _tight(markup: object) -> str:
    return str(markup).replace(">\n<", "><")


def test_a_table_has_a_head_and_rows() -> None:
    made = _tight(Markdown().render("| a | b |\n|---|---|\n| `1` | 2 |"))
    assert '<thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead>' in made
    assert "<tbody><tr><td><code>1</code></td><td>2</td></tr></tbody>" in made


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "### <img src=x onerror=alert(1)>",
        "- **<b onclick=x>**",
        "`<i>`",
        "| <u> | b |\n|---|---|\n| <s> | 2 |",
        "```\n<script>\n```",
        "{{<b>.c}}",
        "![<b>](https://example.org/<b>)",
        "<https://example.org/<b>>",
        '[<b>](https://example.org/"onclick=x)',
    ],
)
def test_markup_in_a_lesson_stays_text(text: str) -> None:
    made = str(Markdown().render(text))
    for tag in ("<script", "<img", "<b", "<i>", "<u>", "<s>"):
        assert tag not in made.replace("<blockquote", "").replace("<body", "")
    assert '"onclick' not in made


def test_links_lead_only_to_where_they_may() -> None:
    made = Markdown(lambda target: {"../70-fusion": "/learn/70-fusion"}.get(target, ""))
    assert str(made.inline("[a](../70-fusion)")) == '<a href="/learn/70-fusion">a</a>'
    assert str(made.inline("[a](javascript:alert)")) == "a"
    assert str(Markdown().inline("[a](/etc)")) == "a"
    assert 'rel="noopener noreferrer"' in str(Markdown().inline("[a](https://example.org)"))


def test_a_covered_figure_names_its_prediction() -> None:
    made = Markdown(cover=lambda name: "guess" if name == "a" else "")
    assert 'data-covered="guess"' in str(made.inline("{{a.b}}"))
    assert "data-covered" not in str(made.inline("{{c.b}}"))
