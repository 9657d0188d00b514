"""Facts independent of jobs: the server, samples, pipelines, operators, error codes."""

from __future__ import annotations

from functools import cache
from typing import cast

from flask import Response, request

import compiler
from app import samples as sample_models
from app.api.answers import answer, body, constant, queue, settings
from app.api.table import Query, Table
from app.compression import Constant
from app.errors import codes
from app.jobs.compile import host_facts, versions
from app.wire import VERSION, catalogue, requests
from app.wire.fields import whole_number
from app.wire.shapes import facts as shapes
from compiler.passes import parse_pipeline
from compiler.passes.pipeline.precision import suiting

ROUTES = Table()


@ROUTES.route("GET", "/about", shapes.About)
def about() -> Response:
    """Return facts about the server: limits, versions, machine."""
    payload: shapes.About = {
        "version": VERSION,
        "program": compiler.__version__,
        "limits": settings().limits(),
        "versions": _versions(),
        "host": _host(),
        "machines": [
            {
                "name": each.name,
                "kind": each.processor,
                "facts": cast(shapes.MachineFacts, each.facts),
            }
            for each in queue().machines()
        ],
    }
    return answer(payload)


_versions = cache(versions)
_host = cache(host_facts)


@ROUTES.route("GET", "/sandbox", shapes.Sandbox)
def sandbox() -> Response:
    """Return whether this server isolates models and texts; wait for a running self-test."""
    found = queue().runner.isolation.await_self_test()
    payload: shapes.Sandbox = {
        "version": VERSION,
        "state": found.state,
        "obstacle": found.obstacle,
        "fix": found.fix,
    }
    return answer(payload)


@ROUTES.route("GET", "/samples", shapes.Samples)
def samples() -> Response:
    """Return the models that ship with the program."""
    rows: list[shapes.Sample] = [
        {
            "id": s.id,
            "title": s.title,
            "words": s.words,
            "bytes": s.path.stat().st_size,
            "n_onnx_nodes": len(sample_models.operators(s.path, is_drawn=s.seed is not None)),
            "weights": "trained" if s.seed is None else "seeded",
            "has_labels": s.test is not None,
            "accuracy": s.accuracy,
            "shapes": dict(s.shapes),
            "precisions": suiting(sample_models.operators(s.path)),
        }
        for s in sample_models.samples().values()
    ]
    return answer(shapes.Samples(version=VERSION, samples=rows))


@ROUTES.route(
    "GET",
    "/pipelines",
    shapes.Pipelines,
    query=[Query("outline", "1: leave out rules, steps and examples")],
    fails=(400,),
)
def pipelines() -> Response:
    """Return presets, passes and rules, with their descriptions."""
    is_outline = whole_number(request.args.get("outline"), "outline", 0, 0, 1)
    return (_outline() if is_outline else _pipelines()).answer()


@cache
def _pipelines() -> Constant:
    return constant(catalogue.pipelines())


@cache
def _outline() -> Constant:
    return constant(catalogue.outline())


@ROUTES.route(
    "POST", "/pipelines/check", shapes.CheckedPipeline, body=shapes.PipelineText, fails=(400,)
)
def check_pipeline() -> Response:
    """Parse a pipeline's text and return its normal form."""
    return answer(catalogue.checked_pipeline(parse_pipeline(requests.pipeline_text(body()))))


@ROUTES.route("GET", "/operators", shapes.Operators)
def operators() -> Response:
    """Return all declared operators."""
    return _operators().answer()


@cache
def _operators() -> Constant:
    return constant(catalogue.operators())


@ROUTES.route("GET", "/errors", shapes.ErrorCodes)
def error_codes() -> Response:
    """Return the table of error codes."""
    return answer(shapes.ErrorCodes(version=VERSION, errors=codes()))
