"""A rule that moves a scale behind a matrix product into the weights."""

from course.student.rules import Any, Const, Skip, o, rule


# solution: @rule(o.mul(o.matmul(Any("x"), Const("w")), Const("s")), error=4e-6)
@rule(o.mul(o.matmul(Any("x"), Const("w")), Const("s")), error=4e-6, single_use=True)
# end of the solution
def move_scale(x, w, s):
    """Replace (x w) s by x (w s), so that the scale is applied before the first run.

    x, w and s have a `type` with a `shape`. For constants, `w.stored.array()` has the numbers.
    """
    # solution: return o.mul(o.matmul(x, w), s)
    columns = w.type.shape[-1]
    if s.type.shape not in ((), (1,), (columns,)):
        return Skip("the scale differs between rows")
    return o.matmul(x, w.stored.array() * s.stored.array())
    # end of the solution
