"""Files in the user's cache folder that later processes of the same user read back.

Some of these files are machine code, so another user who can write one of them runs code as this
user. `directory` names the folders, `trust` refuses folders and files that others may write, `key`
has the secret key of a folder, and `store` reads and writes entries with a keyed digest. See
docs/cache.md.
"""
