"""Two layers: a batch of any size, 784 numbers each, ten classes."""

WIDTHS = [96, 10]


def layer(x, width, seed):
    w = weight([x.shape[-1], width], seed=seed)
    b = full([width], 0.01)
    return x @ w + b


def mlp(image: f32[N, 784]):
    h = relu(layer(image, WIDTHS[0], seed=1))
    scores = layer(h, WIDTHS[1], seed=2)
    return {"probability": softmax(scores, axis=-1)}
