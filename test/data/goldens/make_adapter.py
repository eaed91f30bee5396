#!/usr/bin/env python3
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes test/data/goldens/adapter: LoRA adapters of peft for test/data/folders/llama-decoder, an input, and the logits that peft computes.

usage: DIR/bin/python test/data/goldens/make_adapter.py     DIR: see scripts/goldens-setup

`projections` changes projections with ranks and factors of their own; `whole` also changes the table of embeddings and
replaces the output matrix.
"""
import os
import shutil

os.environ["HF_HUB_OFFLINE"] = "1"  # peft looks for the configuration of the model

import numpy
import torch
import transformers
from peft import LoraConfig, get_peft_model

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "../folders/llama-decoder")
ADAPTERS = {
    "projections": LoraConfig(r=4, lora_alpha=8, use_rslora=True, target_modules=["q_proj", "v_proj", "down_proj"],
                              rank_pattern={"v_proj": 2}, alpha_pattern={"layers.1.self_attn.q_proj": 20}),
    "whole": LoraConfig(r=3, lora_alpha=6, target_modules=["k_proj", "embed_tokens"], modules_to_save=["lm_head"]),
}


def main():
    folder = os.path.join(HERE, "adapter")
    shutil.rmtree(folder, ignore_errors=True)
    ids = numpy.random.default_rng(4).integers(3, 80, (2, 9)).astype(numpy.int32)
    os.makedirs(folder)
    numpy.save(os.path.join(folder, "target.npy"), ids)
    for name, config in ADAPTERS.items():
        generator = torch.Generator().manual_seed(5)
        base = transformers.AutoModelForCausalLM.from_pretrained(MODEL, attn_implementation="eager")
        model = get_peft_model(base, config).eval()
        for parameter, value in model.named_parameters():
            if "lora_" in parameter or "modules_to_save" in parameter:
                value.data.copy_(0.2 * torch.randn(value.shape, generator=generator))
        model.peft_config["default"].base_model_name_or_path = "llama-decoder"
        model.save_pretrained(os.path.join(folder, name))
        os.remove(os.path.join(folder, name, "README.md"))
        with torch.no_grad():
            numpy.save(os.path.join(folder, name + ".npy"), model(torch.tensor(ids.astype(numpy.int64))).logits.numpy())


if __name__ == "__main__":
    main()
