"""Turns the pinned GGUF file of the lab into a Hugging Face folder that vLLM can load.

    python benchmarks/engines_model.py MODEL.gguf FOLDER

Runs in the environment of `scripts/setup-engines`. Weights are dequantised to bfloat16; the
tokenizer and its chat template come from the same file. Nothing is fetched.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

DONE = "converted"


def main() -> None:
    """Convert once; a folder that is whole is left alone."""
    model, folder = Path(sys.argv[1]), Path(sys.argv[2])
    if (folder / DONE).exists():
        return
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    # Since version 5 blocks stay quantised unless asked otherwise, and such a model is not saved.
    quantization = GgufConfig(gguf_file=model.name, dequantize=True)
    weights = AutoModelForCausalLM.from_pretrained(
        model.parent,
        gguf_file=model.name,
        dtype=torch.bfloat16,
        quantization_config=quantization,
    )
    tokenizer = AutoTokenizer.from_pretrained(model.parent, gguf_file=model.name)
    weights.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / DONE).write_text(f"{model.name}\n")


if __name__ == "__main__":
    main()
