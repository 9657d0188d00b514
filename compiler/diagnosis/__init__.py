"""The cause of a kernel's time, and the next actions that address it.

`causes` declares the causes, `actions` the actions, `work` estimates the work of a kernel's loops,
and `facts` holds the measurements that the causes examine. See docs/diagnosis.md.
"""
