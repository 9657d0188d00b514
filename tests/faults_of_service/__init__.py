"""Kills the processes of a service at random moments under load, then checks that nothing is lost.

worker    the child processes of the service: short jobs that report events and parts
server    the service: `compilarium serve`, with a web worker and a supervisor
service   starts the service again whenever it was killed, and finds its processes
load      clients that submit jobs all the time
kills     the kinds of faults
verdict   the checks afterwards
"""
