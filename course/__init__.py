"""The lesson engine: reads lessons, runs their blocks, judges answers, and checks lessons.

    format -> graphs -> quantities -> loop_counts -> student -> blocks

A part imports only from earlier parts. The package runs under Pyodide: it imports neither Flask nor
llvmlite, and starts no process at import.
"""
