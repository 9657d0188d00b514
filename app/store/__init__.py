"""Data that outlives jobs: a database, and files by key (uploads.py and jobs/ decide which).

`sqlite` and `postgresql` have the settings of connections, `copies` keeps copies from before
migrations, `database` opens the database and migrates its tables, `dialects` has what else differs
between databases, `watch` wakes threads after changes, and `maintenance` checks and copies the
database for operators. `models` declares the tables, and `migrations` contains their versions. Each
table has a module or folder with its queries (`links`, `jobs`). SQL is confined to this folder.
`blobs` stores uploads and results by key.
"""
