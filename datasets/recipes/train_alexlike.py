#!/usr/bin/env python3
"""Train an AlexNet-like network on Fashion-MNIST and dump gradients: 7,706,506 parameters, most in dense layers.

    python3 datasets/recipes/train_alexlike.py --steps 100 -o dumps/alexlike
"""

import torch
from torch import nn
from torch.nn.functional import dropout, relu

from _fashion import FASHION
from _training import parse_args, run


class AlexLike(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(128, 128, 3, padding=1), nn.ReLU())
        self.fc6 = nn.Linear(128 * 7 * 7, 1024)
        self.fc7 = nn.Linear(1024, 1024)
        self.fc8 = nn.Linear(1024, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.features(x).flatten(1)
        x = dropout(relu(self.fc6(x)), 0.5, self.training)
        x = dropout(relu(self.fc7(x)), 0.5, self.training)
        return self.fc8(x)


if __name__ == "__main__":
    run(AlexLike, parse_args(FASHION, "alexlike", workers=1, steps="100"))
