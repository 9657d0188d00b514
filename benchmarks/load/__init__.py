"""A class of students at a server of Compilarium: see `__main__`.

A module imports only modules before it in this list:

    tally -> client -> site -> models -> lesson -> parts -> student -> processes -> servers
          -> sampling -> verdict -> picture -> report
"""
