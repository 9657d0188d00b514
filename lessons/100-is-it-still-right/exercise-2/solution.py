"""Three rules on sums and maxima. One of them is right only sometimes: give it a condition."""

from course.student.rules import Any, AnyAttr, Const, Skip, o, rule

X, AXES, KEEP = Any("x"), AnyAttr("axes"), AnyAttr("keep")


@rule(o.reduce_sum(o.neg(X), axes=AXES, keepdims=KEEP))
def sum_of_negated(x, axes, keep):
    """The sum of negated numbers is the negated sum, which has fewer elements to negate."""
    return o.neg(o.reduce_sum(x, axes=axes, keepdims=keep))


@rule(o.reduce_max(o.neg(X), axes=AXES, keepdims=KEEP))
def maximum_of_negated(x, axes, keep):
    """The maximum of negated numbers is the negated minimum."""
    return o.neg(o.reduce_min(x, axes=axes, keepdims=keep))


@rule(o.reduce_sum(o.mul(X, Const("s")), axes=AXES, keepdims=KEEP), error=4e-6)
def scale_after_sum(x, s, axes, keep):
    """A common factor can be applied after the sum. A tensor t has the shape t.type.shape."""
    # solution: return o.mul(o.reduce_sum(x, axes=axes, keepdims=keep), s)
    if s.type.shape != ():
        return Skip("the factor differs between elements")
    return o.mul(o.reduce_sum(x, axes=axes, keepdims=keep), s)
    # end of the solution
