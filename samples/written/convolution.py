"""Two convolutions with normalisation and ReLU, the second one half as large."""


def block(x, channels, stride, seed):
    w = weight([channels, x.shape[1], 3, 3], seed=seed)
    y = conv(x, w, strides=[stride, stride], pads=[1, 1, 1, 1], dilations=[1, 1])
    scale = full([channels], 0.9)
    shift = full([channels], 0.1)
    mean = zeros([channels])
    var = ones([channels])
    return relu(batch_norm(y, scale, shift, mean, var))


def convolution(image: f32[1, 3, 40, 56]):
    h = block(image, 16, stride=1, seed=1)
    h = block(h, 24, stride=2, seed=2)
    return reduce_mean(h, axes=[2, 3], keepdims=False)
