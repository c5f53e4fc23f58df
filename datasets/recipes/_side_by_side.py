"""Networks with a set of weights for each of several workers, computed side by side in one process.

The workers' batches are the groups of grouped convolutions and the batches of batched matrix products. So each worker
has its own gradients and its own batch-norm statistics, at the cost of one large batch.
"""

from typing import Dict, List, Tuple

import torch
from torch.nn import functional as F

from _fashion import FASHION
from _text import Bytes
from _training import Batch, Task

Shapes = Dict[str, Tuple[int, ...]]


class Network:
    """`workers` copies of a network. All copies begin with the same weights, which depend only on the seed.

    A flat vector has the matrices first, one after the other, then all other weights.
    """

    task: Task
    shapes: Shapes = {}
    adam = False  # trained with AdamW, not with SGD
    clip = False  # gradients are clipped at norm 1

    def __init__(self, workers: int, seed: int = 0) -> None:
        self.workers = workers
        self.shapes = dict(sorted(type(self).shapes.items(), key=lambda item: len(item[1]) < 2))
        random = torch.Generator().manual_seed(seed)
        self.weights = {name: self.initial(name, shape, random).repeat(workers, *[1] * len(shape)).requires_grad_()
                        for name, shape in self.shapes.items()}
        self.sizes = [weight[0].numel() for weight in self.weights.values()]

    def initial(self, name: str, shape: Tuple[int, ...], random: torch.Generator) -> torch.Tensor:
        """The first weights, with a leading dimension of 1."""
        raise NotImplementedError

    def __call__(self, inputs: torch.Tensor, training: bool = True) -> torch.Tensor:
        """Logits of inputs[worker, example, ...]: [worker, example, ..., class]."""
        raise NotImplementedError

    def losses(self, batch: Batch) -> torch.Tensor:
        """The mean loss of each worker."""
        inputs, classes = batch
        logits = self(inputs)
        losses = F.cross_entropy(logits.flatten(0, -2), classes.flatten(), reduction="none")
        return losses.view(self.workers, -1).mean(1)

    def read(self) -> torch.Tensor:
        """The weights: a flat vector for each worker."""
        return torch.cat([weight.detach().flatten(1) for weight in self.weights.values()], 1)

    def write(self, vector: torch.Tensor) -> None:
        """Gives all workers the weights of one flat vector."""
        with torch.no_grad():
            for weight, part in zip(self.weights.values(), vector.split(self.sizes)):
                weight.copy_(part.view(weight.shape[1:]))

    def take_gradients(self) -> torch.Tensor:
        """The gradients: a flat vector for each worker. They are zero afterwards."""
        taken = torch.cat([weight.grad.flatten(1) for weight in self.weights.values()], 1)
        for weight in self.weights.values():
            weight.grad = None
        return taken

    def parts(self) -> List[Tuple[str, Tuple[int, ...]]]:
        """Cuts a flat vector into tensors for methods on matrices: each matrix, and all other weights together."""
        cut = [(name, shape) for name, shape in self.shapes.items() if len(shape) > 1]
        return cut + [("others", (sum(self.sizes[len(cut):]),))]

    def single(self, vector: torch.Tensor) -> "Network":
        """One copy with these weights, for evaluation."""
        copy = type(self)(1)
        copy.write(vector)
        return copy

    def score(self, inputs: torch.Tensor, classes: torch.Tensor) -> Tuple[float, float]:
        """Percentage of right answers and mean loss of the first copy."""
        right = loss = 0.0
        with torch.no_grad():
            for x, y in zip(inputs.split(250), classes.split(250)):
                logits = self(x[None], training=False)[0].flatten(0, -2)
                right += float((logits.argmax(1) == y.flatten()).sum())
                loss += float(F.cross_entropy(logits, y.flatten(), reduction="sum"))
        return 100 * right / classes.numel(), loss / classes.numel()


class ResNet8(Network):
    """Three blocks of two 3x3 convolutions with batch norm: 77,562 parameters."""

    task = FASHION
    blocks = ((16, 16, 1), (16, 32, 2), (32, 64, 2))
    shapes: Shapes = {"stem": (16, 1, 3, 3), "stem.scale": (16,), "stem.shift": (16,)}
    for i, (before, width, stride) in enumerate(blocks):
        shapes.update({f"{i}.c1": (width, before, 3, 3), f"{i}.c1.scale": (width,), f"{i}.c1.shift": (width,),
                       f"{i}.c2": (width, width, 3, 3), f"{i}.c2.scale": (width,), f"{i}.c2.shift": (width,)})
        if before != width:
            shapes[f"{i}.beside"] = (width, before, 1, 1)
    shapes.update({"fc": (64, 10), "fc.shift": (10,)})

    def __init__(self, workers: int, seed: int = 0) -> None:
        super().__init__(workers, seed)
        self.means = {name[:-6]: torch.zeros(workers, *shape)
                      for name, shape in self.shapes.items() if name.endswith(".scale")}
        self.variances = {name: torch.ones_like(mean) for name, mean in self.means.items()}

    def initial(self, name: str, shape: Tuple[int, ...], random: torch.Generator) -> torch.Tensor:
        if len(shape) == 4:  # He et al.
            return torch.randn(1, *shape, generator=random) * (2 / (shape[1] * shape[2] * shape[3])) ** 0.5
        if name == "fc":
            return (torch.rand(1, *shape, generator=random) * 2 - 1) / shape[0] ** 0.5
        return torch.ones(1, *shape) if name.endswith("scale") else torch.zeros(1, *shape)

    def __call__(self, inputs: torch.Tensor, training: bool = True) -> torch.Tensor:
        def conv(name: str, x: torch.Tensor, stride: int) -> torch.Tensor:
            w = self.weights[name]
            return F.conv2d(x, w.flatten(0, 1), None, stride, w.shape[-1] // 2, 1, self.workers)

        def norm(name: str, x: torch.Tensor) -> torch.Tensor:
            return F.batch_norm(x, self.means[name].view(-1), self.variances[name].view(-1),
                                self.weights[name + ".scale"].flatten(), self.weights[name + ".shift"].flatten(),
                                training)

        x = inputs.squeeze(2).transpose(0, 1)  # the workers' images are channels
        x = F.relu(norm("stem", conv("stem", x, 2)))
        for i, (before, width, stride) in enumerate(self.blocks):
            y = norm(f"{i}.c2", conv(f"{i}.c2", F.relu(norm(f"{i}.c1", conv(f"{i}.c1", x, stride))), 1))
            x = F.relu(y + (conv(f"{i}.beside", x, stride) if before != width else x))
        x = x.mean((2, 3)).view(len(x), self.workers, -1).transpose(0, 1)
        return torch.baddbmm(self.weights["fc.shift"][:, None], x, self.weights["fc"])

    def single(self, vector: torch.Tensor) -> "Network":
        """Batch norm then uses the mean of the workers' running statistics."""
        copy = super().single(vector)
        for of, to in ((self.means, copy.means), (self.variances, copy.variances)):
            for name, value in of.items():
                to[name].copy_(value.mean(0, keepdim=True))
        return copy


class ByteGPT(Network):
    """GPT-2's blocks on bytes of text: 2 blocks, width 64, 4 heads, 133,440 parameters."""

    adam = clip = True
    width, heads, length, vocabulary = 64, 4, 32, 256
    task = Bytes(length, vocabulary)
    shapes: Shapes = {"wte": (vocabulary, width), "wpe": (length, width), "head": (width, vocabulary),
                      "last.scale": (width,)}
    for i in range(2):
        shapes.update({f"{i}.qkv": (width, 3 * width), f"{i}.out": (width, width), f"{i}.up": (width, 4 * width),
                       f"{i}.down": (4 * width, width), f"{i}.n1.scale": (width,), f"{i}.n2.scale": (width,)})

    def initial(self, name: str, shape: Tuple[int, ...], random: torch.Generator) -> torch.Tensor:
        if len(shape) == 1:
            return torch.ones(1, *shape)
        return torch.randn(1, *shape, generator=random) * (0.02 if name.startswith("w") else shape[0] ** -0.5)

    def __call__(self, inputs: torch.Tensor, training: bool = True) -> torch.Tensor:
        of, (workers, batch, length) = self.weights, inputs.shape

        def norm(name: str, x: torch.Tensor) -> torch.Tensor:
            return F.layer_norm(x, (self.width,)) * of[name + ".scale"][:, None]

        def attend(i: int, x: torch.Tensor) -> torch.Tensor:
            part = self.width // self.heads
            q, k, v = torch.bmm(x, of[f"{i}.qkv"]).view(-1, length, 3, self.heads, part).permute(2, 0, 3, 1, 4).reshape(
                3, -1, length, part)
            seen = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / part ** 0.5 + later, -1)
            out = torch.bmm(seen, v).view(-1, self.heads, length, part).transpose(1, 2).reshape(x.shape)
            return torch.bmm(out, of[f"{i}.out"])

        later = torch.full((length, length), float("-inf")).triu(1)
        first = torch.arange(workers)[:, None, None] * self.vocabulary
        x = F.embedding(inputs + first, of["wte"].flatten(0, 1)) + of["wpe"][:, None, :length]
        x = x.view(workers, batch * length, self.width)
        for i in range(2):
            x = x + attend(i, norm(f"{i}.n1", x))
            x = x + torch.bmm(F.gelu(torch.bmm(norm(f"{i}.n2", x), of[f"{i}.up"])), of[f"{i}.down"])
        return torch.bmm(norm("last", x), of["head"]).view(workers, batch, length, self.vocabulary)


class ByteLSTM(Network):
    """Two layers on bytes of text, width 64: 98,816 parameters."""

    adam = clip = True
    width, length, vocabulary = 64, 32, 256
    task = Bytes(length, vocabulary)
    shapes: Shapes = {"embedding": (vocabulary, width), "head": (width, vocabulary), "head.shift": (vocabulary,)}
    for i in range(2):
        shapes.update({f"{i}.input": (width, 4 * width), f"{i}.state": (width, 4 * width), f"{i}.shift": (4 * width,)})

    def initial(self, name: str, shape: Tuple[int, ...], random: torch.Generator) -> torch.Tensor:
        if len(shape) == 1:
            return torch.zeros(1, *shape)
        return (torch.rand(1, *shape, generator=random) * 2 - 1) * (1.0 if name == "embedding" else self.width ** -0.5)

    def __call__(self, inputs: torch.Tensor, training: bool = True) -> torch.Tensor:
        of, (workers, batch, length) = self.weights, inputs.shape
        first = torch.arange(workers)[:, None, None] * self.vocabulary
        x = F.embedding((inputs + first).transpose(1, 2), of["embedding"].flatten(0, 1))  # [worker, place, example, width]
        for i in range(2):
            sums = torch.baddbmm(of[f"{i}.shift"][:, None], x.flatten(1, 2), of[f"{i}.input"])
            sums = sums.view(workers, length, batch, -1).unbind(1)
            h = c = x.new_zeros(workers, batch, self.width)
            places = []
            for at in sums:
                gates = torch.baddbmm(at, h, of[f"{i}.state"])
                begin, keep, end = torch.sigmoid(gates[..., :3 * self.width]).chunk(3, -1)
                c = keep * c + begin * torch.tanh(gates[..., 3 * self.width:])
                h = end * torch.tanh(c)
                places.append(h)
            x = torch.stack(places, 1)
        logits = torch.baddbmm(of["head.shift"][:, None], x.flatten(1, 2), of["head"])
        return logits.view(workers, length, batch, self.vocabulary).transpose(1, 2)


NETWORKS = {"resnet8": ResNet8, "gpt": ByteGPT, "lstm": ByteLSTM}
