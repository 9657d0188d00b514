"""Schedules: moves that lower a computation to Loop IR.

For each class of computations, one policy chooses the scheduling moves.
`policy` chooses the policy, and `assemble` joins the parts of a kernel. The moves of `language/`
transform a `nest`; `policies/` or a schedule's text call them. `writing/` emits the loops.
"""
