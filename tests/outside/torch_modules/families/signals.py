"""Spectra, window functions, and audio processing without random numbers."""

import torch

from tests.outside.torch_modules.case import call, f

OPSET = {"torchscript": 17}

CASES = [
    call(
        "stft",
        lambda x: torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=False),
        f(2, 64),
        opset=OPSET,
    ),
    call(
        "stft_plain",
        lambda x: torch.stft(x, 16, 8, center=False, window=torch.ones(16), return_complex=False),
        f(2, 64),
        opset=OPSET,
    ),
    call(
        "stft_real_view",
        lambda x: torch.view_as_real(
            torch.stft(x, 16, 4, window=torch.hamming_window(16), return_complex=True)
        ),
        f(2, 64),
    ),
    call("fft_real_view", lambda x: torch.view_as_real(torch.fft.fft(x)), f("N", 12)),
    call("rfft_real_view", lambda x: torch.view_as_real(torch.fft.rfft(x)), f("N", 15)),
    call("fft_magnitude", lambda x: torch.fft.rfft(x).abs(), f("N", 12)),
    call("ifft_round", lambda x: torch.fft.irfft(torch.fft.rfft(x), n=12), f("N", 12)),
    call("fft2", lambda x: torch.view_as_real(torch.fft.fft2(x)), f("N", 6, 5)),
    call("hann", lambda x: x * torch.hann_window(16), f("N", 16)),
    call("blackman", lambda x: x * torch.blackman_window(16, periodic=False), f("N", 16)),
    call("frames", lambda x: x.unfold(-1, 8, 4) * torch.hann_window(8), f(2, 64)),
    call("power_db", lambda x: 10 * torch.log10(torch.clamp(x.square(), min=1e-10)), f("N", "L")),
    call(
        "pre_emphasis", lambda x: torch.cat([x[:, :1], x[:, 1:] - 0.97 * x[:, :-1]], 1), f("N", "L")
    ),
]
