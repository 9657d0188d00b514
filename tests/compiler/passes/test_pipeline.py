"""Tests of pipelines as text and as data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.errors import CompileError
from compiler.passes import PASSES, RULES, Line, Pipeline, as_pipeline, parse_pipeline, presets
from compiler.passes.engine.declaration import ALIASES
from compiler.passes.engine.known_rules import all_but
from compiler.passes.pipeline.pipeline import MAX_LINES, line
from compiler.trace import Decision


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("fuse", "fuse"),
        (
            " dead_code_elimination , fuse{ policy = elementwise } ",
            "dead_code_elimination,fuse{policy=elementwise}",
        ),
        (
            "fold_constants{max_growth=2,max_bytes=10}",
            "fold_constants{max_growth=2.0,max_bytes=10}",
        ),
        ("fold_constants{max_growth=1.1}", "fold_constants"),
        ("simplify{until=once,inexact=false}", "simplify{until=once,inexact=false}"),
        ("fuse{}", "fuse"),
        ("O0,-dead_code_elimination", "fold_constants"),
        ("fuse,fuse,-fuse,dead_code_elimination", "dead_code_elimination"),
        ("none", "none"),
        ("none,fuse", "fuse"),
    ],
)
def test_text_is_read_and_printed_in_one_form(text: str, printed: str) -> None:
    pipeline = parse_pipeline(text)
    assert str(pipeline) == printed
    assert str(parse_pipeline(printed)) == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("cse,dce", "common_subexpression_elimination,dead_code_elimination"),
        ("licm", "loop_invariant_code_motion"),
        ("remove_dead,fuse,-merge_common", "dead_code_elimination,fuse"),
        ("O0,-remove_dead", "fold_constants"),
        ("until_stable(settle_sizes,simplify)", "until_stable(fold_shapes,simplify)"),
    ],
)
def test_short_forms_and_former_names_become_the_name(text: str, printed: str) -> None:
    assert str(parse_pipeline(text)) == printed


def test_an_alias_is_no_name_of_a_pass_or_rule() -> None:
    assert not ALIASES.keys() & (PASSES.keys() | RULES.keys() | presets().keys())
    assert set(ALIASES.values()) <= PASSES.keys()


def test_rewrites_are_left_out_by_the_former_name_of_their_pass() -> None:
    gate = all_but(["remove_dead", "fuse"])
    assert not gate(Decision("dead_code_elimination", "dead_code_elimination", "y"))
    assert gate(Decision("fold_constants", "fold_constants", "y"))


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", "E-PIPELINE-SYNTAX", "empty"),
        ("fuse,,fuse", "E-PIPELINE-SYNTAX", "between two commas"),
        ("fuse{", "E-PIPELINE-SYNTAX", "not closed"),
        ("fuse}", "E-PIPELINE-SYNTAX", "do not match"),
        ("fuse{policy={}}", "E-PIPELINE-SYNTAX", "do not match"),
        ("fuse{policy}", "E-PIPELINE-SYNTAX", "option=value"),
        ("fuse{policy=anchor,policy=none}", "E-PIPELINE-SYNTAX", "twice"),
        ("fuse{policy=a b}", "E-PIPELINE-SYNTAX", "a word or a number"),
        ("fuse{policy=none}x", "E-PIPELINE-SYNTAX", "name{option=value}"),
        ("two words", "E-PIPELINE-SYNTAX", "name{option=value}"),
        ("fuze", "E-PIPELINE-PASS", "no pass 'fuze'"),
        ("fuse,-fuze", "E-PIPELINE-PASS", "no pass 'fuze'"),
        ("fuse{police=none}", "E-PIPELINE-OPTION", "no option 'police'"),
        ("cost_analysis{x=1}", "E-PIPELINE-OPTION", "options: none"),
        ("fuse{policy=strict}", "E-PIPELINE-OPTION", "anchor or xla or postdominator"),
        ("fuse{duplicate=1}", "E-PIPELINE-OPTION", "true or false"),
        ("fold_constants{max_growth=much}", "E-PIPELINE-OPTION", "non-negative"),
        ("fold_constants{max_growth=-1}", "E-PIPELINE-OPTION", "non-negative"),
        ("fold_constants{max_bytes=1.5}", "E-PIPELINE-OPTION", "a count"),
        (",".join(["fuse"] * (MAX_LINES + 1)), "E-PIPELINE-SYNTAX", "at most"),
    ],
)
def test_mistakes_are_named(text: str, code: str, says: str) -> None:
    with pytest.raises(CompileError) as e:
        parse_pipeline(text)
    assert e.value.code == code
    assert says in e.value.message
    assert e.value.hint


_OPTIONS = {
    "max_growth": st.floats(0, 1e6),
    "max_bytes": st.integers(0, 1 << 40),
    "max_nodes": st.integers(0, 1000),
    "at_most": st.integers(0, 1000),
    "block": st.integers(0, 64),
}


@st.composite
def lines(draw: st.DrawFn) -> Line:
    declared = PASSES[draw(st.sampled_from(sorted(PASSES)))]
    options = {}
    for o in declared.options.values():
        if draw(st.booleans()):
            if o.choices:
                options[o.name] = draw(st.sampled_from(o.choices))
            elif o.kind is bool:
                options[o.name] = draw(st.booleans())
            elif o.name in _OPTIONS:
                options[o.name] = draw(_OPTIONS[o.name])
    return line(declared.name, **options)


@given(st.lists(lines(), max_size=6))
def test_any_pipeline_survives_being_printed_and_read(made: list[Line]) -> None:
    pipeline = Pipeline(tuple(made))
    again = parse_pipeline(str(pipeline))
    assert again.lines == pipeline.lines
    assert str(again) == str(pipeline)


def test_a_preset_comes_with_its_reasons() -> None:
    pipeline = parse_pipeline("default")
    assert pipeline is presets()["default"]
    assert pipeline.name == "default"
    assert all(x.because for x in pipeline.lines)
    assert str(pipeline) == str(presets()["O2"])
    assert all(x.because for x in parse_pipeline("default,-fuse").lines)


def test_a_pass_can_be_switched_off() -> None:
    shorter = presets()["default"].without("fold_affine", "fuse")
    assert {"fold_affine", "fuse"}.isdisjoint(x.name for x in shorter.lines)
    assert len(shorter.lines) == len(presets()["default"].lines) - 2
    with pytest.raises(CompileError, match="E-PIPELINE-PASS"):
        shorter.without("fuze")


def test_lines_text_and_pipelines_are_all_taken() -> None:
    made = [line("fuse", policy="none"), line("dead_code_elimination")]
    assert str(as_pipeline(made)) == "fuse{policy=none},dead_code_elimination"
    pipeline = as_pipeline("dead_code_elimination")
    assert as_pipeline(pipeline) is pipeline


def test_advice_names_what_a_pass_would_profit_from() -> None:
    (advice,) = parse_pipeline("dead_code_elimination,fuse").advice()
    assert advice.startswith("fuse is less effective here")
    assert "fold_constants" in advice
    assert parse_pipeline("fold_constants,dead_code_elimination,fuse").advice() == []


def test_the_quick_preset_changes_no_bit() -> None:
    options = {x.name: x.options for x in presets()["O1"].lines}
    assert options["simplify"] == {"inexact": False}
    assert "fold_affine" not in options
    assert {x.name for x in presets()["O0"].lines} <= {"fold_constants", "dead_code_elimination"}


def test_a_list_of_texts_is_a_pipeline() -> None:
    assert str(as_pipeline(["dead_code_elimination", "fuse{policy=elementwise}"])) == (
        "dead_code_elimination,fuse{policy=elementwise}"
    )


@pytest.mark.parametrize("given", [None, 5, [3], [None], b"fuse"])
def test_what_is_neither_text_nor_lines_is_refused(given: Any) -> None:
    with pytest.raises(CompileError) as e:
        as_pipeline(given)
    assert e.value.code == "E-PIPELINE-SYNTAX"


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    for text in (f"fold_constants{{max_growth={'9' * 5000}}}", f"simplify{{at_most={'9' * 5000}}}"):
        with pytest.raises(CompileError) as e:
            parse_pipeline(text)
        assert e.value.code == "E-PIPELINE-SYNTAX"


def test_a_pipeline_for_other_runtimes_leaves_out_what_is_for_our_code() -> None:
    made = parse_pipeline(
        "fold_constants,decompose_recurrent,until_stable(simplify,unroll_loops),fuse"
    )
    assert str(made.portable) == (
        "fold_constants{keep_quantized=true},decompose_recurrent{layers=false},until_stable(simplify)"
    )
    o3 = presets()["O3"].portable
    assert not any(x.declared.for_code for x in o3.passes)
    assert {"simplify", "combine_parallel_contractions", "infer_trip_counts"} <= {
        x.name for x in o3.passes
    }
    assert o3.portable.lines == o3.lines
