"""The run time: arena, constants, launches, fallbacks, profile.

`build` builds executables: `works/` selects implementations of nodes and generates their code,
`executable` runs the code, with a `frame` per run. `open/` does the same for sizes known at run
time only. `program` wraps both kinds of executables for users.
"""
