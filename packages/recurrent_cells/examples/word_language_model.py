"""A word-level language model in PyTorch, as people write them: embedding, LSTM, dropout, clipping, an optimiser.

    python packages/recurrent_cells/examples/word_language_model.py ptb/                      # ptb.train.txt, ptb.valid.txt: nn.LSTM
    python packages/recurrent_cells/examples/word_language_model.py ptb/ --layers recurrent   # the same with recurrent_cells

Needs PyTorch, and for the second `pip install ./packages/recurrent_cells`. Prints one line an epoch.
"""

import argparse
import math
import time
from pathlib import Path

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, kind, words, size, depth, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.embedding = nn.Embedding(words, size)
        self.layers = nn.LSTM(size, size, depth)
        if kind == "recurrent":
            from recurrent_cells import Recurrent

            self.layers = Recurrent.from_lstm(self.layers)  # the one line
        self.output = nn.Linear(size, words)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)

    def forward(self, tokens, states=None):
        x = self.dropout(self.embedding(tokens))
        y, states = self.layers(x, states)
        return self.output(self.dropout(y)), states


def read(folder, part, vocabulary):
    words = (Path(folder) / f"ptb.{part}.txt").read_text().replace("\n", " <eos> ").split()
    if part == "train":
        for word in words:
            vocabulary.setdefault(word, len(vocabulary))
    return torch.tensor([vocabulary[word] for word in words])


def in_columns(tokens, batch):
    steps = len(tokens) // batch
    return tokens[: steps * batch].view(batch, steps).t().contiguous()


def windows(columns, length):
    """Whole windows only."""
    for start in range(0, len(columns) - length, length):
        yield columns[start : start + length], columns[start + 1 : start + length + 1]


def run(model, columns, length, optimizer=None, clip=None):
    """The mean loss; with an optimiser, one epoch of training."""
    model.train(optimizer is not None)
    total, count, states = 0.0, 0, None
    with torch.set_grad_enabled(optimizer is not None):
        for tokens, targets in windows(columns, length):
            if states is not None:
                states = tuple(one.detach() for one in states)
            scores, states = model(tokens, states)
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
            if optimizer:
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), clip)
                optimizer.step()
            total += loss.item()
            count += 1
    return total / count


def main():
    asked = argparse.ArgumentParser(description="A word-level language model")
    asked.add_argument("folder", help="with any text as ptb.train.txt and ptb.valid.txt")
    asked.add_argument("--layers", choices=("lstm", "recurrent"), default="lstm")
    for name, value in (("size", 200), ("depth", 2), ("batch", 20), ("length", 35), ("epochs", 2)):
        asked.add_argument(f"--{name}", type=int, default=value)
    asked.add_argument("--dropout", type=float, default=0.2)
    asked.add_argument("--rate", type=float, default=20.0)
    asked.add_argument("--clip", type=float, default=0.25)
    asked.add_argument("--adam", action="store_true", help="Adam (--rate 1e-3, say) instead of SGD")
    asked.add_argument("--seed", type=int, default=0)
    options = asked.parse_args()

    torch.manual_seed(options.seed)
    torch.set_flush_denormal(True)
    vocabulary = {"<eos>": 0}
    train = in_columns(read(options.folder, "train", vocabulary), options.batch)
    valid = in_columns(read(options.folder, "valid", vocabulary), options.batch)
    model = Model(options.layers, len(vocabulary), options.size, options.depth, options.dropout)
    make = torch.optim.Adam if options.adam else torch.optim.SGD
    optimizer = make(model.parameters(), lr=options.rate)
    for epoch in range(options.epochs):
        start = time.perf_counter()
        loss = run(model, train, options.length, optimizer, options.clip)
        seconds = time.perf_counter() - start
        perplexity = math.exp(run(model, valid, options.length))
        print(
            f"epoch {epoch + 1}: loss {loss:.6f}, validation perplexity {perplexity:.3f}, {seconds:.2f} s"
        )


if __name__ == "__main__":
    main()
