"""Transformers exported by torch, with seeded random weights, for `benchmarks.models`.

    python -m benchmarks.transformer_models FOLDER [--only bert,t5] [--exporter dynamo] [--open]
    python -m benchmarks.models FOLDER --models bert,gpt2_decode

Configurations are those of the published models with fewer layers, since layers are alike and two
layers export in seconds. Requires the extra `benchmarks`; nothing is downloaded.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf  # pyright: ignore[reportMissingImports]
from torch import Tensor, nn

SEED = 1
N_LAYERS = 2

Inputs = Mapping[str, Tensor]


@dataclass(frozen=True)
class Exportable:
    """A module whose `forward` takes tensors in order, with input tensors by name."""

    module: nn.Module
    inputs: Inputs
    exporter: str = "torchscript"

    @property
    def open_axes(self) -> dict[str, dict[int, str]]:
        """Return the sizes that `--open` leaves open: batch, and number of tokens or samples."""
        return {
            name: {0: "batch", **({1: f"length_{t.shape[1]}"} if t.ndim == 2 else {})}
            for name, t in self.inputs.items()
        }


class Results(nn.Module):
    """A wrapper of a library model: takes tensors by position, and returns a tuple of tensors."""

    def __init__(self, model: nn.Module, names: tuple[str, ...], **options: Any) -> None:
        super().__init__()
        self.model, self.names, self.options = model, names, options

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Return the tensors among the model's results, in order."""
        given = dict(zip(self.names, tensors, strict=True))
        return _tensors(self.model(**given, **self.options, return_dict=False))


class Cached(nn.Module):
    """A decoder that reads the keys and values of earlier tokens, and appends the new token's."""

    def __init__(self, model: nn.Module, n_layers: int) -> None:
        super().__init__()
        self.model, self.n_layers = model, n_layers

    def forward(self, token: Tensor, *past: Tensor) -> tuple[Tensor, ...]:
        """Return the logits of the next token, then keys and values by layer."""
        cache = hf.DynamicCache()
        for layer in range(self.n_layers):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        positions = torch.arange(past[0].shape[2], past[0].shape[2] + token.shape[1])
        logits = self.model(
            input_ids=token,
            past_key_values=cache,
            cache_position=positions,
            position_ids=positions[None],
            use_cache=True,
            return_dict=False,
        )[0]
        kept = [t for layer in cache.layers for t in (layer.keys, layer.values)]
        return (logits, *kept)


MODELS: dict[str, Callable[[], Exportable]] = {}
"""All models, by the names of their files."""


def model(make: Callable[[], Exportable]) -> Callable[[], Exportable]:
    """Register a model under the name of its function."""
    MODELS[make.__name__] = make
    return make


@model
def bert() -> Exportable:
    """BERT base, 128 tokens."""
    config = hf.BertConfig(num_hidden_layers=N_LAYERS)
    names = ("input_ids", "attention_mask")
    made = Results(hf.BertModel(config), names)
    return Exportable(made, {"input_ids": _tokens(30522, 128), "attention_mask": _ones(128)})


@model
def gpt2_prefill() -> Exportable:
    """GPT-2 small, prefill of 64 tokens."""
    return _prefill(hf.GPT2LMHeadModel(hf.GPT2Config(n_layer=N_LAYERS)), 50257, 64)


@model
def gpt2_decode() -> Exportable:
    """GPT-2 small, decoding of one token after 128 cached tokens."""
    config = hf.GPT2Config(n_layer=N_LAYERS)
    return _decoding(hf.GPT2LMHeadModel(config), 50257, heads=12, head_size=64)


def _llama() -> nn.Module:
    return hf.LlamaForCausalLM(
        hf.LlamaConfig(
            vocab_size=32000,
            hidden_size=1024,
            intermediate_size=2816,
            num_hidden_layers=N_LAYERS,
            num_attention_heads=16,
            num_key_value_heads=4,
        )
    )


@model
def llama_prefill() -> Exportable:
    """A Llama with 1,024 channels and grouped queries, prefill of 128 tokens."""
    return _prefill(_llama(), 32000, 128)


@model
def llama_decode() -> Exportable:
    """The Llama of `llama_prefill`, decoding of one token after 128 cached tokens."""
    return _decoding(_llama(), 32000, heads=4, head_size=64)


def _qwen() -> nn.Module:
    return hf.Qwen2ForCausalLM(
        hf.Qwen2Config(
            vocab_size=32000,
            hidden_size=896,
            intermediate_size=4864,
            num_hidden_layers=N_LAYERS,
            num_attention_heads=14,
            num_key_value_heads=2,
        )
    )


@model
def qwen_prefill() -> Exportable:
    """Qwen2 0.5B with a smaller vocabulary, prefill of 128 tokens."""
    return _prefill(_qwen(), 32000, 128)


@model
def qwen_decode() -> Exportable:
    """The Qwen2 of `qwen_prefill`, decoding of one token after 128 cached tokens."""
    return _decoding(_qwen(), 32000, heads=2, head_size=64)


@model
def t5() -> Exportable:
    """T5 small, 64 input tokens and 16 output tokens."""
    config = hf.T5Config(num_layers=N_LAYERS, use_cache=False)
    made = Results(hf.T5ForConditionalGeneration(config), ("input_ids", "decoder_input_ids"))
    tokens = {"input_ids": _tokens(32128, 64), "decoder_input_ids": _tokens(32128, 16)}
    return Exportable(made, tokens)


@model
def vit() -> Exportable:
    """ViT base with patches of 16 x 16."""
    config = hf.ViTConfig(num_hidden_layers=N_LAYERS)
    return _of_image(hf.ViTForImageClassification(config), 224)


@model
def swin() -> Exportable:
    """Swin tiny with two layers in each of the four stages."""
    config = hf.SwinConfig(depths=[2, 2, 2, 2])
    return _of_image(hf.SwinForImageClassification(config), 224)


@model
def convnext() -> Exportable:
    """ConvNeXt tiny with fewer layers in the third stage."""
    config = hf.ConvNextConfig(depths=[1, 1, 3, 1])
    return _of_image(hf.ConvNextForImageClassification(config), 224)


@model
def segformer() -> Exportable:
    """Segformer B0 for images of 256 x 256."""
    return _of_image(hf.SegformerForSemanticSegmentation(hf.SegformerConfig()), 256)


@model
def efficientnet() -> Exportable:
    """EfficientNet B0, whose last pool has a window much larger than the pooled image."""
    config = hf.EfficientNetConfig(
        image_size=224, width_coefficient=1.0, depth_coefficient=1.0, hidden_dim=1280
    )
    return _of_image(hf.EfficientNetForImageClassification(config), 224)


@model
def whisper_encoder() -> Exportable:
    """The encoder of Whisper tiny, for thirty seconds of audio."""
    config = hf.WhisperConfig(encoder_layers=N_LAYERS, d_model=384, encoder_attention_heads=6)
    config.encoder_ffn_dim = 1536
    made = Results(hf.WhisperModel(config).encoder, ("input_features",))
    return Exportable(made, {"input_features": torch.randn(1, 80, 3000)})


@model
def wav2vec2() -> Exportable:
    """Wav2vec 2.0 base, for one second of audio."""
    config = hf.Wav2Vec2Config(num_hidden_layers=N_LAYERS)
    made = Results(hf.Wav2Vec2ForCTC(config), ("input_values",))
    return Exportable(made, {"input_values": torch.randn(1, 16000)})


@model
def clip() -> Exportable:
    """CLIP with patches of 32 x 32, for an image and two texts."""
    config = hf.CLIPConfig(
        text_config={"num_hidden_layers": N_LAYERS, "eos_token_id": 49407},
        vision_config={"num_hidden_layers": N_LAYERS},
    )
    names = ("input_ids", "pixel_values", "attention_mask")
    made = Results(hf.CLIPModel(config), names)
    tokens = torch.cat([_tokens(49400, 16), _tokens(49400, 16)])
    inputs = (tokens, torch.randn(1, 3, 224, 224), torch.ones(2, 16, dtype=torch.int64))
    return Exportable(made, dict(zip(names, inputs, strict=True)))


@model
def mamba() -> Exportable:
    """Mamba with 768 channels, 32 tokens; the exporter unrolls the scan."""
    config = hf.MambaConfig(num_hidden_layers=N_LAYERS, vocab_size=32000, use_cache=False)
    made = Results(hf.MambaForCausalLM(config), ("input_ids",))
    return Exportable(made, {"input_ids": _tokens(32000, 32)})


def export(made: Exportable, path: Path, exporter: str = "", is_open: bool = False) -> None:
    """Write a model and an `.npz` file of its inputs; "" selects the model's default exporter."""
    names = list(made.inputs)
    axes = made.open_axes if is_open else None
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            made.module.eval(),
            tuple(made.inputs.values()),
            str(path),
            dynamo=(exporter or made.exporter) == "dynamo",
            dynamic_axes=axes,
            opset_version=18,
            input_names=names,
            external_data=False,
        )
    arrays: dict[str, Any] = {n: t.numpy() for n, t in made.inputs.items()}
    np.savez(path.with_suffix(".npz"), **arrays)


def main() -> int:
    """Export the requested models; return exit code 1 if an export fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--exporter", default="", choices=["", "torchscript", "dynamo"])
    parser.add_argument("--open", action="store_true", help="leave batch and lengths open")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    wanted = [n for n in options.only.split(",") if n] or list(MODELS)
    refused = 0
    for name in wanted:
        torch.manual_seed(SEED)
        try:
            path = options.folder / f"{name}.onnx"
            export(MODELS[name](), path, options.exporter, options.open)
            print(f"{name}: written", flush=True)
        except Exception as e:  # exporters may raise any exception
            refused += 1
            print(f"{name}: {type(e).__name__}: {str(e).strip().splitlines()[:1]}", flush=True)
    return 1 if refused else 0


def _prefill(decoder: nn.Module, vocabulary: int, n_tokens: int) -> Exportable:
    made = Results(decoder, ("input_ids",), use_cache=False)
    return Exportable(made, {"input_ids": _tokens(vocabulary, n_tokens)}, "dynamo")


def _decoding(decoder: nn.Module, vocabulary: int, heads: int, head_size: int) -> Exportable:
    past = {
        f"{kind}_{layer}": torch.randn(1, heads, 128, head_size)
        for layer in range(N_LAYERS)
        for kind in ("key", "value")
    }
    return Exportable(Cached(decoder, N_LAYERS), {"token": _tokens(vocabulary, 1), **past})


def _of_image(classifier: nn.Module, size: int) -> Exportable:
    made = Results(classifier, ("pixel_values",))
    return Exportable(made, {"pixel_values": torch.randn(1, 3, size, size)})


def _tokens(vocabulary: int, n: int) -> Tensor:
    return torch.randint(5, vocabulary, (1, n))


def _ones(n: int) -> Tensor:
    return torch.ones(1, n, dtype=torch.int64)


def _tensors(results: Any) -> tuple[Tensor, ...]:
    if isinstance(results, Tensor):
        return (results,)
    if isinstance(results, tuple | list):
        return tuple(t for r in results for t in _tensors(r))
    return ()


if __name__ == "__main__":
    sys.exit(main())
