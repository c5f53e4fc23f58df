#!/usr/bin/env python3
"""Train ResNet-20 on Fashion-MNIST and dump gradients: small convolutions and batch norm, 271,994 parameters.

    python3 datasets/recipes/train_resnet20.py --steps 0,100,400 --workers 4 -o dumps/resnet20
"""

import torch
from torch import nn
from torch.nn.functional import relu

from _fashion import FASHION
from _training import parse_args, run


class Block(nn.Module):
    """Two 3x3 convolutions, added to the input, or to a 1x1 convolution of the input if the shape changes."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        self.c1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
        self.b1 = nn.BatchNorm2d(width)
        self.c2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.b2 = nn.BatchNorm2d(width)
        if before != width or stride != 1:
            self.sc = nn.Conv2d(before, width, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        beside = self.sc(x) if hasattr(self, "sc") else x
        return relu(self.b2(self.c2(relu(self.b1(self.c1(x))))) + beside)


class ResNet20(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 16, 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(16)
        shapes = [(16, 16, 1)] * 3 + [(16, 32, 2)] + [(32, 32, 1)] * 2 + [(32, 64, 2)] + [(64, 64, 1)] * 2
        self.layers = nn.Sequential(*(Block(*shape) for shape in shapes))
        self.fc = nn.Linear(64, 10)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layers(relu(self.bn(self.stem(x))))
        return self.fc(x.mean((2, 3)))


if __name__ == "__main__":
    run(ResNet20, parse_args(FASHION, "resnet20", workers=4, steps="0,100,400"))
