"""Files in the user's cache folder that later processes of the same user read back.

Some of these files are machine code, so another user with write access to one of the files could
run code as this user. `directory` names the folders, and `trust` refuses folders and files that
others may write. `key` has the secret key of a folder. `store` reads and writes entries with a
keyed digest. See docs/cache.md.
"""
