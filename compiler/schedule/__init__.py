"""Schedules: from a computation to Loop IR by moves that a policy per class chooses.

`policy` chooses, `assemble` puts the parts of a kernel together; a `nest` is shaped by the moves of
`language/`, which `policies/` make, or a text. What is shaped becomes loops in `writing/`.
"""
