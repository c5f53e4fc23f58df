#!/usr/bin/env python3
"""Train a small GPT that predicts bytes of text, and dump gradients: attention and layer norm, 867,072 parameters.

    python3 datasets/recipes/train_gpt.py --steps 0,100,400 --workers 4 -o dumps/gpt
"""

import torch
from torch import nn

from _text import Bytes
from _training import parse_args, run

VOCABULARY, WIDTH, HEADS, BLOCKS, LENGTH = 256, 128, 4, 4, 64


class SmallGPT(nn.Module):
    """GPT-2's blocks: layer norm before attention and before the two dense layers."""

    def __init__(self) -> None:
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.wpe = nn.Embedding(LENGTH, WIDTH)
        block = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.blocks = nn.TransformerEncoder(block, BLOCKS, norm=nn.LayerNorm(WIDTH))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.register_buffer("later", torch.full((LENGTH, LENGTH), float("-inf")).triu(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.wte(x) + self.wpe.weight[:x.shape[1]]
        return self.head(self.blocks(hidden, mask=self.later[:x.shape[1], :x.shape[1]]))


if __name__ == "__main__":
    run(SmallGPT, parse_args(Bytes(LENGTH, VOCABULARY), "gpt", workers=4, steps="0,100,400", lr=0.1))
