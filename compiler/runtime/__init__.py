"""Everything that happens after compiling: arena, constants, launches, fallbacks, profile.

`build` makes what runs: `works/` decides and writes it, `executable` is it, with one `frame` a run.
`open/` does the same for sizes that only a run tells. `program` holds either for its user.
"""
