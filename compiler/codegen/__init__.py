"""Loop IR -> LLVM text -> machine code.

Each of these imports only from those before it, whether a file or a folder:

    values -> emitter -> arithmetic -> access -> vectors -> expressions -> products -> threads
    -> lockstep -> llvm -> module -> regions -> branches -> planned_launches -> jit -> debug
    -> listing
"""
