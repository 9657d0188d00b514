"""Schedules: lower a computation to Loop IR by moves that one policy per class chooses.

`policy` chooses the moves and `assemble` joins the parts of a kernel. The moves of `language/`
transform a `nest`; `policies/` or a schedule's text call them. `writing/` emits the loops.
"""
