"""A rule that recognises a softmax which was written out."""

from course.student.rules import Any, AnyAttr, Skip, o, rule

X = Any("x")


# solution: @rule(o.exp(X), error=4e-6)
SHIFTED = o.exp(o.sub(X, o.reduce_max(X, axes=AnyAttr("axes"), keepdims=True)))


@rule(o.div(SHIFTED, o.reduce_sum(SHIFTED, axes=AnyAttr("axes"), keepdims=True)), error=4e-6)
# end of the solution
# solution: def find_softmax(x):
def find_softmax(x, axes):
    # end of the solution
    """Replace e = exp(x - max x), divided by the sum of e along one axis, by softmax(x, axis)."""
    # solution: return o.exp(x)
    if len(axes) != 1:
        return Skip("a softmax sums along one axis")
    return o.softmax(x, axis=axes[0])
    # end of the solution
