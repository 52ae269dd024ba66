"""Hold the reference's CTC against PyTorch's in float64 and print the largest relative errors, as JSON."""

import json

import numpy as np
import torch

from measurement import checking, reference
from measurement.workload import BLANK

LENGTH, BATCH, CLASSES, LABELS = 200, 5, 7, 40  # few classes: labels repeat


def main() -> None:
    random = np.random.RandomState(0)
    scores = random.normal(size=(LENGTH, BATCH, CLASSES))
    targets = random.randint(BLANK + 1, CLASSES, (BATCH, LABELS))
    lengths = np.linspace(LENGTH // 2, LENGTH, BATCH).astype(np.int64)
    loss, gradient = reference.ctc(scores, targets, lengths)
    logits = torch.tensor(scores, requires_grad=True)
    counts = torch.full((BATCH,), LABELS)
    given = (logits.log_softmax(2), torch.tensor(targets), torch.tensor(lengths), counts)
    theirs = torch.nn.functional.ctc_loss(*given, blank=BLANK, reduction="sum") / BATCH
    theirs.backward()
    found = {"loss": (loss, theirs.item()), "gradient": (gradient, logits.grad.numpy())}
    errors = {name: checking.relative_error(*pair) for name, pair in found.items()}
    print(json.dumps(errors))


if __name__ == "__main__":
    main()
