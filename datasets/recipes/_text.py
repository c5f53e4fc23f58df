"""English text, word by word or byte by byte, from the files of a Debian package."""

import re
from collections import Counter
from pathlib import Path
from typing import List

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from _training import Batch, Task

UNKNOWN = 0  # stands for every word that is not in the vocabulary


def read_text(folder: str) -> str:
    """All text files of a folder, in the order of their names: those without a suffix."""
    files = sorted(path for path in Path(folder).glob("*") if path.is_file() and not path.suffix)
    if not files:
        raise FileNotFoundError(f"{folder} has no text: apt-get install fortunes, or give --data")
    return "\n".join(path.read_text("utf-8", "replace") for path in files)


class Text(Task):
    """Predict the next token. A batch is batch_size pieces of `length` tokens; every tenth piece is for tests."""

    dataset, unit = "fortunes", "pieces of text"
    folder = "/usr/share/games/fortunes"  # of the package fortunes
    data_help = "folder of text files without a suffix"

    def __init__(self, length: int, vocabulary: int) -> None:
        self.length, self.vocabulary = length, vocabulary

    def tokens(self, text: str) -> List[int]:
        raise NotImplementedError

    def load(self, folder: str, part: str) -> torch.Tensor:
        """Pieces of length + 1 tokens, one a row."""
        tokens = torch.tensor(self.tokens(read_text(folder)))
        pieces = tokens[:len(tokens) // (self.length + 1) * (self.length + 1)].view(-1, self.length + 1)
        if len(pieces) < 10:
            raise ValueError(f"{folder} has {len(tokens)} tokens, too few for ten pieces of {self.length + 1}")
        test = torch.arange(len(pieces)) % 10 == 9
        return pieces[test if part == "test" else ~test]

    def count(self, data: torch.Tensor) -> int:
        return len(data)

    def pick(self, data: torch.Tensor, chosen: torch.Tensor) -> Batch:
        return data[chosen, :-1], data[chosen, 1:]

    def score(self, model: nn.Module, data: torch.Tensor) -> str:
        pieces = data[:200]
        losses = [cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()) * len(x) for x in pieces.split(20)]
        return f"perplexity {torch.exp(sum(losses) / len(pieces)):.1f} on {len(pieces)} test pieces"


class Words(Text):
    """The most frequent words and marks; all others are one token."""

    def tokens(self, text: str) -> List[int]:
        words = re.findall(r"\w+|[^\w\s]", text.lower())
        known = [word for word, _ in sorted(Counter(words).items(), key=lambda item: (-item[1], item[0]))]
        numbers = {word: i + 1 for i, word in enumerate(known[:self.vocabulary - 1])}
        return [numbers.get(word, UNKNOWN) for word in words]


class Bytes(Text):
    """Bytes of UTF-8."""

    def tokens(self, text: str) -> List[int]:
        return list(text.encode())
