"""A rule that divides results of attention instead of its weights."""

from course.student.rules import Any, Skip, o, rule


# solution: @rule(o.div(Any("e"), Any("total")))
@rule(o.matmul(o.div(Any("e"), Any("total")), Any("v")), error=1e-5, single_use=True)
# end of the solution
def divide_later(e, total, v):
    """Replace (e / total) * v by (e * v) / total if this takes fewer divisions.

    `e.shape` is the shape of an operand. `Skip("...")` declines, with a reason.
    """
    # solution: return o.matmul(o.div(e, total), v)
    if total.shape != (e.shape[0], 1):
        return Skip("the divisor is not one number for each row")
    if v.shape[-1] >= e.shape[-1]:
        return Skip("the results are no fewer than the weights")
    return o.div(o.matmul(e, v), total)
    # end of the solution
