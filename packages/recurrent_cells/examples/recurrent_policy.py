"""Reinforcement learning with a recurrent policy: remember what was shown at an episode's first step, and answer at its last one.

    python packages/recurrent_cells/examples/recurrent_policy.py                      # nn.LSTM, a step at a time
    python packages/recurrent_cells/examples/recurrent_policy.py --layers recurrent   # recurrent_cells, `resets`

Episodes of random length follow each other in every row of a rollout, so states have to begin anew in its middle: nn.LSTM then
runs step by step, `Recurrent` takes the mask. REINFORCE with the mean reward as baseline. Needs PyTorch; prints one line per
ten updates.
"""

import argparse
import time

import torch
from torch import nn

CUES = 2


class Policy(nn.Module):
    def __init__(self, kind, size):
        super().__init__()
        self.layers = nn.LSTM(CUES + 1, size)
        if kind == "recurrent":
            from recurrent_cells import Recurrent

            self.layers = Recurrent.from_lstm(self.layers)
        self.output = nn.Linear(size, CUES)

    def forward(self, x, begins):
        """x [T, B, K], begins [T, B] -> logits [T, B, CUES]"""
        if not isinstance(self.layers, nn.LSTM):
            return self.output(self.layers(x, resets=begins)[0])  # the one line
        states, outputs = None, []
        for x_t, begins_t in zip(x, begins, strict=True):
            if states is not None:
                states = tuple(one * ~begins_t.unsqueeze(1) for one in states)
            y, states = self.layers(x_t.unsqueeze(0), states)
            outputs.append(y)
        return self.output(torch.cat(outputs))


def rollout(steps, batch):
    """Observations [T, B, CUES + 1] (the cue at an episode's first step, a flag at its last one), where episodes begin and end
    [T, B], and each step's cue [T, B]."""
    begins, ends = torch.zeros(2, steps, batch, dtype=torch.bool)
    cues = torch.zeros(steps, batch, dtype=torch.int64)
    for row in range(batch):
        first = 0
        while first < steps:
            last = first + torch.randint(5, 16, ()).item()
            cues[first : last + 1, row] = torch.randint(CUES, ())
            begins[first, row] = True
            if last < steps:
                ends[last, row] = True
            first = last + 1
    shown = nn.functional.one_hot(cues, CUES) * begins.unsqueeze(2)
    return torch.cat([shown, ends.unsqueeze(2)], 2).float(), begins, ends, cues


def main():
    asked = argparse.ArgumentParser(description="A recurrent policy")
    asked.add_argument("--layers", choices=("lstm", "recurrent"), default="lstm")
    for name, value in (("size", 64), ("batch", 32), ("steps", 128), ("updates", 60)):
        asked.add_argument(f"--{name}", type=int, default=value)
    asked.add_argument("--seed", type=int, default=0)
    options = asked.parse_args()

    torch.manual_seed(options.seed)
    torch.set_flush_denormal(True)
    policy = Policy(options.layers, options.size)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    rewards, seconds = [], 0.0
    for update in range(options.updates):
        x, begins, ends, cues = rollout(options.steps, options.batch)
        start = time.perf_counter()
        chosen = torch.distributions.Categorical(logits=policy(x, begins)[ends])
        actions = chosen.sample()
        reward = (actions == cues[ends]).float()
        loss = -(chosen.log_prob(actions) * (reward - reward.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seconds += time.perf_counter() - start
        rewards.append(reward.mean().item())
        if update % 10 == 9:
            mean = sum(rewards[-10:]) / 10
            print(f"update {update + 1}: mean reward {mean:.4f}, {seconds:.2f} s")


if __name__ == "__main__":
    main()
