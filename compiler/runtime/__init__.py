"""The run time: arena, constants, launches, fallbacks, profile.

`build` makes executables: `works/` selects and generates the work, `executable` runs it, with a
`frame` per run. `open/` does the same for sizes known at run time only. `program` wraps either for
users.
"""
