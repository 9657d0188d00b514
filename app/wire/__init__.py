"""The shapes of payloads: what `docs/wire.md` describes. No other part of the server knows them.

`shapes` declares them; `graphs`, `programs`, `catalogue` and `jobs` make them from our values;
`requests` reads what clients send.
"""

VERSION = 1
