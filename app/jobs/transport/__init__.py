"""Jobs sent to the workers of a Dask cluster; see docs/dask.md.

The table of jobs remains the only record of states. A process sends the jobs that may start
(`sender`), and Dask chooses a worker and starts a task there (`tasks`). The task claims its job
from the table, and a supervisor in the worker's process runs it (`host`).
"""
