"""A rule that finds the sigmoid in its formula."""

from course.student.rules import Any, o, rule


# solution: @rule(o.neg(Any("x")))
@rule(o.div(1.0, o.add(o.exp(o.neg(Any("x"))), 1.0)), error=2e-6)
# end of the solution
def find_sigmoid(x):
    """Replace the formula of the sigmoid by the operator."""
    # solution: return x
    return o.sigmoid(x)
    # end of the solution
