"""Classify sequences of different lengths, packed as PyTorch packs them: which value stood beside the mark?

    python packages/recurrent_cells/examples/ragged_classifier.py                      # nn.LSTM
    python packages/recurrent_cells/examples/ragged_classifier.py --layers recurrent   # recurrent_cells

Each sequence is noise of a random length; at one step its first value is 1, and one of the others tells the class. Needs
PyTorch; prints one line an epoch.
"""

import argparse
import time

import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

CLASSES, FEATURES = 4, 16


class Model(nn.Module):
    def __init__(self, kind, size):
        super().__init__()
        self.layers = nn.LSTM(FEATURES, size, bidirectional=True)
        if kind == "recurrent":
            from recurrent_cells import Recurrent

            self.layers = Recurrent.from_lstm(self.layers)  # the one line
        self.output = nn.Linear(2 * size, CLASSES)

    def forward(self, packed):
        y, _ = pad_packed_sequence(
            self.layers(packed)[0], padding_value=-2.0
        )  # y lies within -1 and 1
        return self.output(y.amax(0))


def batches(count, batch, longest):
    """Pairs of a PackedSequence and the classes [B]."""
    for _ in range(count):
        classes, sequences = torch.randint(CLASSES, (batch,)), []
        for label in classes.tolist():
            steps = torch.randint(longest // 4, longest + 1, ()).item()
            x = 0.3 * torch.randn(steps, FEATURES)
            x[:, 0] = 0.0
            x[torch.randint(steps, ()), [0, 1 + label]] = torch.tensor([1.0, 2.0])
            sequences.append(x)
        yield pack_sequence(sequences, enforce_sorted=False), classes


def main():
    asked = argparse.ArgumentParser(description="A classifier of ragged sequences")
    asked.add_argument("--layers", choices=("lstm", "recurrent"), default="lstm")
    for name, value in (("size", 64), ("batch", 32), ("longest", 100), ("count", 50)):
        asked.add_argument(f"--{name}", type=int, default=value)
    asked.add_argument("--epochs", type=int, default=4)
    asked.add_argument("--seed", type=int, default=0)
    options = asked.parse_args()

    torch.manual_seed(options.seed)
    torch.set_flush_denormal(True)
    model = Model(options.layers, options.size)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(options.epochs):
        total, right, seconds = 0.0, 0, 0.0
        for packed, classes in batches(options.count, options.batch, options.longest):
            start = time.perf_counter()
            scores = model(packed)
            loss = nn.functional.cross_entropy(scores, classes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seconds += time.perf_counter() - start
            total += loss.item() / options.count
            right += (scores.argmax(1) == classes).sum().item()
        share = right / (options.count * options.batch)
        print(f"epoch {epoch + 1}: loss {total:.6f}, accuracy {share:.3f}, {seconds:.2f} s")


if __name__ == "__main__":
    main()
