#!/usr/bin/env python3
"""Train an LSTM that predicts words, and dump gradients: an embedding with many zero rows, 3,617,672 parameters.

    python3 datasets/recipes/train_lstm.py --steps 0,100,400 --workers 4 -o dumps/lstm
"""

import torch
from torch import nn

from _text import Words
from _training import parse_args, run

VOCABULARY, WIDTH = 5000, 256


class WordLSTM(nn.Module):
    """Two layers, like the word-level LSTM of the SBC and RedSync papers, but smaller."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Embedding(VOCABULARY, WIDTH)
        self.rnn = nn.LSTM(WIDTH, WIDTH, 2, batch_first=True)
        self.decoder = nn.Linear(WIDTH, VOCABULARY)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.rnn(self.encoder(x))[0])


if __name__ == "__main__":
    run(WordLSTM, parse_args(Words(length=35, vocabulary=VOCABULARY), "lstm", workers=4, steps="0,100,400", lr=0.5))
