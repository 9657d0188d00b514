"""Three rules. One of them changes results: find it, and correct it."""

from course.student.rules import Any, AnyAttr, o, rule

X, P, Q = Any("x"), AnyAttr("p"), AnyAttr("q")


@rule(o.neg(o.neg(X)))
def drop_negations(x):
    """Two negations in a row cancel."""
    return x


@rule(o.transpose(o.transpose(X, perm=P), perm=Q))
def merge_transposes(x, p, q):
    """Two transposes in a row are one. Axis i of a transpose by p is axis p[i] of its operand."""
    # solution: return o.transpose(x, perm=tuple(p.index(i) for i in q))
    return o.transpose(x, perm=tuple(p[i] for i in q))
    # end of the solution


@rule(o.relu(o.relu(X)))
def relu_once(x):
    """A second relu finds no negative numbers."""
    return o.relu(x)
