"""Two rules that take out a common factor of a sum."""

from course.student.rules import Any, Skip, o, rule

X, P, Q, R = Any("x"), Any("p"), Any("q"), Any("r")


# solution: @rule(o.add(P, R), single_use=True)
@rule(o.add(o.mul(X, P), o.mul(X, R)), single_use=True)
# end of the solution
def factor_near(x, p, r):
    """Replace x p + x r by x (p + r). Operands of add and mul match in both orders."""
    # solution: return o.mul(x, o.add(p, r))
    if x.type.dtype.is_float:
        return Skip("x may be infinite")
    return o.mul(x, o.add(p, r))
    # end of the solution


# solution: @rule(o.add(o.add(P, Q), R), single_use=True)
@rule(o.add(o.add(o.mul(X, P), Q), o.mul(X, R)), single_use=True)
# end of the solution
def factor_far(x, p, q, r):
    """Replace x p + q + x r by x (p + r) + q."""
    # solution: return o.add(o.mul(x, o.add(p, r)), q)
    if x.type.dtype.is_float:
        return Skip("x may be infinite, so this form is not equal")
    return o.add(o.mul(x, o.add(p, r)), q)
    # end of the solution
