"""Small graphs that many passes change, with distinct sizes."""

from __future__ import annotations

from tests.compiler.passes.numbers import graph

_CNN = """
graph cnn(x: f32[1,3,7,9]) {
  const w: f32[4,3,3,3] = splat(0.125)
  const s: f32[4] = literal(1.0,2.0,-0.5,0.25)
  const b: f32[4] = literal(0.5,-1.0,0.0,2.0)
  const m: f32[4] = literal(0.1,0.2,0.3,0.4)
  const v: f32[4] = literal(1.0,0.5,2.0,4.0)
  const g: f32[4] = literal(1.5,-2.0,0.5,3.0)
  const h: f32[4] = literal(-0.5,1.0,0.25,0.0)
  const three: f32[] = literal(3.0)
  const zero: f32[] = literal(0.0)
  const six: f32[] = literal(6.0)
  const w2: f32[4,1,3,3] = splat(-0.25)
  const flat: i64[2] = literal(1,-1)
  const dense: f32[4,2] = literal(1.0,-1.0,0.5,0.25,2.0,-2.0,1.5,0.75)
  c: f32[1,4,7,9] = conv(x, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  n: f32[1,4,7,9] = batch_norm(c, s, b, m, v)
  g1: f32[4,1,1] = unsqueeze(g, axes=[1,2])
  h1: f32[4,1,1] = unsqueeze(h, axes=[1,2])
  n1: f32[1,4,7,9] = mul(n, g1)
  n2: f32[1,4,7,9] = add(n1, h1)
  a3: f32[1,4,7,9] = add(n2, three)
  cl: f32[1,4,7,9] = clip(a3, zero, six)
  d6: f32[1,4,7,9] = div(cl, six)
  hs: f32[1,4,7,9] = mul(d6, n2)
  id: f32[1,4,7,9] = identity(hs)
  dw: f32[1,4,7,9] = conv(id, w2, strides=[1,1], pads=[1,1,1,1], dilations=[1,1], groups=4)
  res: f32[1,4,7,9] = add(dw, hs)
  r: f32[1,4,7,9] = relu(res)
  p: f32[1,4,4,5] = max_pool(r, kernel=[3,3], strides=[2,2], pads=[1,1,1,1], dilations=[1,1])
  mean: f32[1,4,1,1] = reduce_mean(p, axes=[2,3])
  f: f32[1,4] = reshape(mean, flat)
  y: f32[1,2] = matmul(f, dense)
  out: f32[1,2] = softmax(y, axis=1)
  return out, features=r
}
"""

_ELEMENTWISE = """
graph elementwise(x: f32[5,3], y: f32[3]) {
  const two: f32[] = literal(2.0)
  const same: f32[] = literal(2.0)
  const one: f32[3] = splat(1.0)
  const many: f32[5,3] = splat(0.5)
  a: f32[5,3] = add(x, y)
  b: f32[5,3] = add(y, x)
  c: f32[5,3] = mul(a, two)
  d: f32[5,3] = mul(same, b)
  e: f32[5,3] = sub(c, many)
  f: f32[5,3] = relu(e)
  g: f32[5,3] = relu(f)
  s: f32[5,3] = sigmoid(g)
  t: f32[5,3] = mul(s, g)
  u: f32[5,3] = mul(t, one)
  v: f32[5,3] = pow(u, two)
  w: f32[5,3] = div(v, same)
  k: f32[5,3] = tanh(d)
  z: f32[5,3] = add(w, k)
  n: f32[5,3] = neg(z)
  m: f32[5,3] = neg(n)
  total: f32[5] = reduce_sum(m, axes=[1], keepdims=false)
  dead: f32[5,3] = exp(m)
  return total, m
}
"""

_SHAPES = """
graph shapes(x: f32[2,3,4]) {
  const rest: i64[1] = literal(-1)
  const half: f32[] = literal(0.5)
  const first: i64[1] = literal(0)
  const at: i64[] = literal(1)
  const three: i64[1] = literal(3)
  s: i64[3] = shape(x)
  one: i64[] = gather(s, at, axis=0)
  list: i64[1] = unsqueeze(one, axes=[0])
  to: i64[2] = concat(rest, list, axis=0)
  p: f32[2,4,3] = transpose(x, perm=[0,2,1])
  q: f32[8,3] = reshape(p, to)
  t: f32[3,8] = transpose(q, perm=[1,0])
  u: f32[8,3] = transpose(t, perm=[1,0])
  v: f32[8,3] = mul(u, half)
  all: f32[8,3] = slice(v, first, three, at1)
  const at1: i64[1] = literal(1)
  w: f32[8,1,3] = unsqueeze(all, axes=[1])
  y: f32[8,3] = squeeze(w, axes=[1])
  g: f32[3,3] = matmul(t, y)
  k: f32[2,3] = fill(two, value=0.25)
  const two: i64[2] = literal(2,3)
  r: f32[2,3] = matmul(k, g)
  return r
}
"""

_BRANCHES = """
graph branches(x: f32[4,6], m: f32[6,5], r: f32[4,5]) {
  const scale: f32[5] = literal(1.0,-2.0,0.5,3.0,0.25)
  const shift: f32[5] = literal(0.5,1.0,-1.0,0.0,2.0)
  const w: f32[5,5] = splat(0.375)
  a: f32[4,5] = matmul(x, m)
  b: f32[4,5] = mul(a, scale)
  c: f32[4,5] = add(b, shift)
  d: f32[4,5] = relu(c)
  e: f32[4,5] = exp(d)
  f: f32[4,5] = sub(d, e)
  g: f32[4,5] = add(r, f)
  h: f32[4,5] = matmul(g, w)
  i: f32[4,5] = mul(h, scale)
  j: f32[4,5] = add(i, shift)
  k: f32[4,5] = abs(r)
  l: f32[4,5] = add(k, j)
  o: f32[4,5] = sqrt(k)
  most: f32[4,1] = reduce_max(l, axes=[1])
  z: f32[4,5] = div(l, most)
  return z, o, g
}
"""

NETWORKS = {
    "cnn": graph(_CNN),
    "elementwise": graph(_ELEMENTWISE),
    "shapes": graph(_SHAPES),
    "branches": graph(_BRANCHES),
}
"""Graphs by name; types are checked when they are created."""
