"""The pipelines that have names: what runs by default, less, more, and in small steps."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.passes.pipeline.pipeline import Line, Pipeline, line


def _clean_up() -> list[Line]:
    return [
        line("fold_constants", "constants first: the other passes look at their elements"),
        line("adopt", "constants may be the parameters that carried operators waited for"),
        line("take_branches", "sizes that are known now decide conditions"),
        line("unroll_loops", "a few steps with sizes of their own become nodes with code"),
        line("write_out", "what a step computes is for all the other passes to see"),
        line("remove_dead", "what nobody reads need not be looked at"),
        line("simplify", "fewer, simpler nodes give the later passes more to match"),
        line("merge_common", "after simplifying, since that makes different nodes equal"),
        line("hoist", "what a loop computes again in every step, now that little else is left"),
    ]


def _affine() -> list[Line]:
    return [
        line("fold_affine", "scales and shifts vanish into weights while nodes are still single"),
        line("fold_constants", "folding left small computations on constants behind"),
        line("merge_common", "folded parameters are often equal"),
        line("remove_dead", "the old weights have no reader any more"),
    ]


def _presets() -> list[Pipeline]:
    return [
        Pipeline(
            (
                *_clean_up(),
                *_affine(),
                line("fuse", "a group is a kernel, and later passes do not look into it"),
                line("assign_layout", "what is one kernel decides which values lie alike"),
                line("fuse_movement", "last: copies between layouts join the transposes they meet"),
            ),
            "O2",
            "Everything that is known to help: the default.",
        ),
        Pipeline(
            (
                line("fold_constants", "shape arithmetic has to be gone before code is made"),
                line("remove_dead", "dead nodes would become kernels"),
            ),
            "O0",
            "Nothing that is not needed: the model as it is, one kernel per node.",
        ),
        Pipeline(
            (
                line("fold_constants", "constants first: the other passes look at their elements"),
                line("adopt", "constants may be the parameters that carried operators waited for"),
                line("take_branches", "sizes that are known now decide conditions"),
                line("unroll_loops", "a few steps with sizes of their own become nodes with code"),
                line("write_out", "what a step computes is for all the other passes to see"),
                line("remove_dead", "what nobody reads need not be looked at"),
                line("simplify", "only rules that keep every bit", inexact=False),
                line("merge_common", "after simplifying, since that makes different nodes equal"),
                line("fuse", "elementwise chains only: quick, and exact", policy="elementwise"),
            ),
            "O1",
            "What is quick to do and changes no bit of the results.",
        ),
        Pipeline(
            (
                line("measure", "the work in the model as it was given"),
                line("fold_constants", "constants first: the other passes look at their elements"),
                line("adopt", "constants may be the parameters that carried operators waited for"),
                line("take_branches", "sizes that are known now decide conditions"),
                line("unroll_loops", "a few steps with sizes of their own become nodes with code"),
                line("write_out", "what a step computes is for all the other passes to see"),
                line("remove_dead", "what nobody reads need not be looked at"),
                line("remove_noops", "one family of rules at a time, to see each one's effect"),
                line("algebra", "one family of rules at a time, to see each one's effect"),
                line("recognise", "one family of rules at a time, to see each one's effect"),
                line("merge_common", "after simplifying, since that makes different nodes equal"),
                line(
                    "hoist",
                    "what a loop computes again in every step, now that little else is left",
                ),
                line("measure", "the work after cleaning up"),
                *_affine(),
                line("measure", "the work after folding scales and shifts"),
                line("fuse", "a group is a kernel, and later passes do not look into it"),
                line("measure", "the traffic that is left"),
                line("assign_layout", "what is one kernel decides which values lie alike"),
                line("fuse_movement", "last: copies between layouts join the transposes they meet"),
            ),
            "debug",
            "The default in smaller steps, with measurements between them.",
        ),
    ]


_cache: dict[str, Pipeline] = {}


def presets() -> Mapping[str, Pipeline]:
    """All presets by name; `default` is `O2`."""
    if not _cache:
        made = {p.name: p for p in _presets()}
        o2 = made["O2"]
        _cache.update({"default": Pipeline(o2.lines, "default", o2.words), **made})
    return _cache
