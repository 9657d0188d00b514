"""The API of student code: the compiler's own classes, a module per subject.

show     report a value from a block
graphs   read, build and edit graphs
rules    patterns and rules
fusion   fusion policies
memory   memory planners
devices  schedulers of devices
execute  runs student code; not part of the API
"""
