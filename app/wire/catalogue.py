"""Payloads of pipelines, passes, rules and operators, generated from the registries."""

from __future__ import annotations

from app.wire import VERSION
from app.wire.shapes import facts as shapes
from compiler.ir.operator import OPERATORS, Operator
from compiler.passes import PASSES, Pass, Pipeline, Rule, presets
from compiler.passes.engine.account import UNREAD
from compiler.passes.engine.declaration import Option
from compiler.passes.engine.mismatch import kind_reason, near_miss_reason
from compiler.passes.engine.step_kind import StepKind
from compiler.passes.pipeline.precision import PRECISIONS, Precision
from compiler.passes.pipeline.presets import manners


def pipelines() -> shapes.Pipelines:
    """Return all presets, passes and rules."""
    rules = {r.name: r for p in PASSES.values() for r in p.rules}
    passes: list[shapes.PassInfo] = [
        {**_pass(p), "steps": [_step_kind(k, p) for k in p.steps]} for p in PASSES.values()
    ]
    return {
        **_presets(),
        "passes": passes,
        "rules": [_rule(r) for r in rules.values()],
        "shared_steps": [_step_kind(UNREAD, PASSES["dead_code_elimination"])],
    }


def outline() -> shapes.Pipelines:
    """Return the pipelines without rules, steps and examples, which are most of their bytes.

    Only the rules and steps run passes, on their near misses.
    """
    passes: list[shapes.PassInfo] = [
        {**_pass(p), "rules": [], "example": ""} for p in PASSES.values()
    ]
    return {**_presets(), "passes": passes, "rules": [], "shared_steps": []}


def _presets() -> shapes.Pipelines:
    """Return the presets and precisions, without passes."""
    systems = {m.name: m.system for m in manners()}
    return {
        "version": VERSION,
        "presets": [_preset(name, p, systems.get(name, "")) for name, p in presets().items()],
        "precisions": [_precision(p) for p in PRECISIONS.values() if not p.refused],
        "passes": [],
        "rules": [],
        "shared_steps": [],
    }


def checked_pipeline(pipeline: Pipeline) -> shapes.CheckedPipeline:
    """Return a pipeline in normal form."""
    return {
        "version": VERSION,
        "text": str(pipeline),
        "passes": [
            {"name": x.name, "options": x.declared.bind(x.options)} for x in pipeline.passes
        ],
        "advice": pipeline.advice(),
    }


def operators() -> shapes.Operators:
    """Return all declared operators, by name."""
    return {"version": VERSION, "operators": [_operator(o) for _, o in sorted(OPERATORS.items())]}


def _preset(name: str, p: Pipeline, system: str) -> shapes.Preset:
    return {
        "name": name,
        "words": p.words,
        "imitates": system,
        "text": str(p),
        "lines": [{"text": str(x), "because": x.because} for x in p.lines],
    }


def _precision(p: Precision) -> shapes.PrecisionInfo:
    return {"name": p.name, "words": p.words, "tolerance": p.tolerance, "needs": p.needs_words}


def _pass(p: Pass) -> shapes.PassInfo:
    """Return a pass without its steps."""
    return {
        "name": p.name,
        "kind": p.kind,
        "words": p.words,
        "options": [_option(o) for o in p.options.values()],
        "rules": [r.name for r in p.rules],
        "steps": [],
        "needs": list(p.needs),
        "gives": list(p.gives),
        "example": p.example.strip(),
        "source": p.source,
    }


def _option(o: Option) -> shapes.PassOption:
    default = str(o.default).lower() if isinstance(o.default, bool) else str(o.default)
    return {
        "name": o.name,
        "type": o.kind.__name__,
        "default": default,
        "choices": list(o.choices),
        "words": " or ".join(o.choices) or _TAKES[o.kind],
    }


_TAKES = {int: "a count", float: "a number", bool: "true or false", str: "a word"}


def _rule(r: Rule) -> shapes.RuleInfo:
    return {
        "name": r.name,
        "words": r.words,
        "pattern": r.pattern_text,
        "exact": r.exact,
        "error": r.error,
        "example": _example(r.example),
        "near_miss": r.near_miss.strip(),
        "near_miss_because": near_miss_reason(r),
        "source": r.source,
    }


def _step_kind(k: StepKind, p: Pass) -> shapes.StepKind:
    return {
        "name": k.name,
        "words": k.words,
        "example": _example(k.example),
        "near_miss": k.near_miss.strip(),
        "near_miss_because": kind_reason(p, k) if k.near_miss else "",
    }


def _example(text: str) -> shapes.RuleExample:
    before, _, after = text.partition("=>")
    return {"before": before.strip(), "after": after.strip()}


def _operator(o: Operator) -> shapes.OperatorInfo:
    operands = [*o.schema.operands, *(f"{name}=" for name in o.schema.attributes)]
    return {
        "name": o.name,
        "family": o.kind,
        "words": o.words,
        "signature": f"{o.name}({', '.join(operands)})",
        "source": o.source,
    }
