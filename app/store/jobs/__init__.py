"""The table of jobs: every reading and every change of a job's state is one function here.

    record    a job and an event as values, ids, and the states
    order     the fair order of the queue
    reading   searches for jobs and events
    queueing  submissions, cancellations and the interest of clients: the web server's writes
    claiming  a supervisor takes the next job
    leases    the writes of the owner of a lease, each of which fails if the lease was lost
    supervisors  the heartbeats of supervisors, with and without jobs

All functions take a connection inside a transaction, and each transaction is short: none contains a
child process or a wait. See docs/jobs.md for the states.
"""
