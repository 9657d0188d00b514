"""The runtime: arena, constants, launches, fallbacks, profile.

`build` builds executables. `thunks/` selects implementations of nodes and generates their code;
`executable` runs the code, with a `frame` per run. `open/` contains the corresponding modules for
sizes known at run time only. `program` is the user's interface to both kinds of executables.
"""
