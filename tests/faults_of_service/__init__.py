"""Disturbs a service at random moments under load, then checks that nothing is lost.

worker     the child processes of the service: short jobs that report events and parts
server     the service: `compilarium serve`, with a web worker and a supervisor
service    starts the service again whenever it was killed, and finds its processes
load       clients that submit jobs all the time
stores     the databases of the service
scene      what a fault acts on
kills      faults of processes
outages    faults of the database
shortages  faults of the machine: its disk, descriptors, processes and clock
faults     the table of all faults
verdict    the checks afterwards
"""
