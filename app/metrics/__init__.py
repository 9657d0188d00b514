"""Figures of the server for Prometheus.

`folder` has the files in which all workers of a server count requests. `requests` observes each
request, `stored` measures the stored data, and `exposition` writes the answer of /metrics.
"""
