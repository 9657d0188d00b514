"""The lesson engine: reads lessons, runs their blocks, judges answers, and checks lessons.

    format -> graphs -> kernel_codes -> quantities -> modelled_products -> loop_counts
    -> cache_lines -> lane_counts -> frames
    -> student -> blocks -> judging -> exercises -> lessons -> catalogue -> checking

A part imports only from earlier parts. `judging` finds the kinds of exercises in their registry,
which importing `exercises` fills. The package runs under Pyodide: it imports neither Flask nor
llvmlite, and starts no process at import.
"""
