"""Code generation: Loop IR -> LLVM IR text -> machine code.

Each file or folder imports only from those before it:

    values -> emitter -> arithmetic -> access -> vectors -> expressions -> products -> threads
    -> lockstep -> llvm -> module -> regions -> branches -> planned_launches -> jit -> debug
    -> listing
"""
