"""Self-attention with three heads over 20 places of 48 numbers."""

HEADS = 3


def heads(x, seed):
    """Project, then put the heads in front: [3, 20, 16]."""
    y = x @ weight([48, 48], seed=seed)
    return transpose(reshape(y, [20, HEADS, 16]), perm=[1, 0, 2])


def attend(x: f32[20, 48]):
    q = heads(x, seed=1)
    k = heads(x, seed=2)
    v = heads(x, seed=3)
    scores = q @ transpose(k, perm=[0, 2, 1]) / sqrt(16)
    mixed = softmax(scores, axis=-1) @ v
    joined = reshape(transpose(mixed, perm=[1, 0, 2]), [20, 48])
    return layer_norm(x + joined @ weight([48, 48], seed=4), ones([48]), zeros([48]))
