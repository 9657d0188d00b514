"""A child process that reads texts and fails in the way that a text requests."""

import os
import sys
import time

print("ready", flush=True)
for line in sys.stdin:
    if "hang" in line:
        time.sleep(600)
    if "die" in line:
        os._exit(3)
    print('{"problems": []}', flush=True)
