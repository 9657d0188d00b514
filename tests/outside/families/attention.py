"""Attention and rotary embeddings of opset 23."""

from __future__ import annotations

from typing import Any

from tests.outside.draft import Draft
from tests.outside.family import family


@family("Attention", weight=1.2)
def _(d: Draft, op: str) -> None:
    """Attention of ranks 3 and 4, grouped, causal, with masks and a cache."""
    batch, heads, group = (d.chance.choice((1, 2)) for _ in range(3))
    lq, lk, size, out = (d.chance.choice((1, 2, 3, 5, 8, 17)) for _ in range(4))
    attrs: dict[str, Any] = {"is_causal": d.chance.choice((None, 0, 1))}
    attrs["scale"] = d.chance.choice((None, None, 0.5))
    attrs["softcap"] = d.chance.choice((None, None, 2.0))
    q, k, v = (batch, heads * group, lq, size), (batch, heads, lk, size), (batch, heads, lk, out)
    if d.maybe():
        q, k, v = ((s[0], s[2], s[1] * s[3]) for s in (q, k, v))
        attrs |= {"q_num_heads": heads * group, "kv_num_heads": heads}
    operands = [d.like("f32", s) for s in (q, k, v)]
    cached, past = d.maybe(0.2), d.chance.choice((1, 3))
    if d.maybe(0.4) or cached:
        columns = lk + (past if cached else 0)
        lead = d.chance.choice(((), (1, 1), (batch, heads * group)))
        label = d.chance.choice(("f32", "bool"))
        mask = d.like(label, (*lead, lq, columns))
        operands.append(mask if d.maybe(0.8) else "")
    if cached:
        operands += [d.like("f32", (batch, heads, past, n)) for n in (size, out)]
        d.node(op, operands, 3, **attrs)
        return
    if not operands[-1]:
        operands.pop()
    d.one(op, operands, **attrs)


@family("RotaryEmbedding", weight=0.7)
def _(d: Draft, op: str) -> None:
    batch, heads, steps = (
        d.chance.choice((1, 2)),
        d.chance.choice((1, 3)),
        d.chance.choice((1, 4, 7)),
    )
    size = d.chance.choice((2, 4, 8))
    x = d.like("f32", (batch, heads, steps, size))
    tables = [d.like("f32", (batch, steps, size // 2)) for _ in "cs"]
    d.one(op, [x, *tables], interleaved=d.chance.choice((None, 0, 1)))
