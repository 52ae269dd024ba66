"""One block of looks in the equations of the mixed model (mixed.py)."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

HEAVY = 3  # degrees of freedom of rounds, of how much rows' processes differ, and of what a block does to one row


class Spread(NamedTuple):
    """Variances: of rounds by themselves, of what changes slowly (with the correlation of successive rounds), of processes, and of
    what a block does to one row and not to the others."""

    rho: float
    rounds: float
    slow: float
    processes: float = 0.0
    alone: float = 0.0


class Block:
    """The looks of one block, in the model's equations. What is random are its rounds, its processes, and what it does to single
    rows."""

    def __init__(
        self,
        at: np.ndarray,
        rounds: np.ndarray,
        rows: np.ndarray,
        processes: np.ndarray,
        known: np.ndarray,
        joining: np.ndarray,
    ) -> None:
        """at: the places of its looks among all; rounds, rows, processes (of a row): whose each is; known: (looks, columns) of the design, and
        the looks' logarithms as the last column; joining: rows that other blocks have, too."""
        self.at = at
        numbers, of_round = np.unique(rounds, return_inverse=True)
        own, of_process = np.unique(np.stack([rows, processes]), axis=1, return_inverse=True)
        self.rows = own[0]  # of its processes
        self.joining = joining = joining[np.isin(joining, rows)]
        self.random = np.hstack(
            [
                np.eye(len(numbers))[of_round],
                np.eye(len(self.rows))[of_process.ravel()],
                rows[:, None] == joining,
            ]
        )
        self.parts = np.cumsum([len(numbers), len(self.rows)])  # where each kind begins
        self.apart = np.abs(numbers[:, None] - numbers)
        # By how much each round's deviation, that of each process's row, and that of a row in this block is larger than others'.
        self.far, self.uneven, self.alone = map(
            np.ones, (len(numbers), len(self.rows), len(joining))
        )
        # The looks themselves are the last column, also where all are what their rows take.
        self.columns = np.append(np.flatnonzero(known[:, :-1].any(axis=0)), known.shape[1] - 1)
        self.known = known[:, self.columns]

    def weigh(self, weights: np.ndarray) -> None:
        """Take `weights`, one over the variance of each look's noise."""
        self.weights = weights
        weighted = weights[:, None] * self.random
        self.within = self.random.T @ weighted
        self.shared = weighted.T @ self.known
        self.squares = self.known.T @ (weights[:, None] * self.known)
        self.determinant = -np.log(weights).sum()

    def covariance(self, spread: Spread) -> np.ndarray:
        """Of what is random."""
        rounds = spread.slow * spread.rho**self.apart + np.diag(spread.rounds * self.far**2)
        own = (spread.processes * self.uneven**2, spread.alone * self.alone**2)
        return linalg.block_diag(rounds, np.diag(np.concatenate(own)))

    def reduced(self, spread: Spread) -> tuple[np.ndarray, float]:
        """(known' V^-1 known, log |V|), V being the covariance of the looks: by the matrix inversion lemma."""
        covariance = self.covariance(spread)
        jitter = 1e-9 * np.diag(covariance).mean() + 1e-30
        self.root = linalg.cholesky(covariance + jitter * np.eye(len(covariance)), lower=True)
        inner = np.eye(len(self.root)) + self.root.T @ self.within @ self.root
        self.inner = linalg.cholesky(inner, lower=True)
        self.back = linalg.solve_triangular(self.inner, self.root.T @ self.shared, lower=True)
        determinant = self.determinant + 2 * np.log(np.diag(self.inner)).sum()
        return self.squares - self.back.T @ self.back, determinant

    def slopes(
        self, spread: Spread, inverse: np.ndarray, effects: np.ndarray, scale: float
    ) -> np.ndarray:
        """By how much what `Mixed._search` minimises grows with rho and with the logarithms of the variances, in the order of Spread's
        fields. inverse, effects: of (X' V^-1 X), and what it makes of y, for this block's columns;
        scale: squares left of y, over their degrees of freedom."""
        across = linalg.solve_triangular(self.inner, self.root.T @ self.within, lower=True)
        told = self.shared - across.T @ self.back  # Z' V^-1 [X y]
        left = told[:, -1] - told[:, :-1] @ effects
        slope = self.within - across.T @ across - told[:, :-1] @ inverse @ told[:, :-1].T
        slope -= np.outer(left, left) / scale
        count = len(self.apart)
        rounds = slope[:count, :count]
        of_rounds, of_processes, of_rows = np.split(np.diag(slope), self.parts)
        alike = spread.slow * spread.rho**self.apart
        found = [
            (rounds * self.apart * alike).sum() / spread.rho,
            spread.rounds * (self.far**2 @ of_rounds),
            (rounds * alike).sum(),
            spread.processes * (self.uneven**2 @ of_processes),
            spread.alone * (self.alone**2 @ of_rows),
        ]
        return np.array(found) / 2

    def solve(self, right: np.ndarray) -> np.ndarray:
        """V^-1 right, with the spread that `reduced` was last given; right: (looks, any)."""
        weighted = self.weights[:, None] * right
        inside = self.root.T @ (self.random.T @ weighted)
        back = self.random @ (self.root @ linalg.cho_solve((self.inner, True), inside))
        return weighted - self.weights[:, None] * back

    def allow(self, spread: Spread, left: np.ndarray) -> np.ndarray:
        """Let rounds, and rows in this block, that lie far off be so, by what is `left` of all looks without rows and blocks: their
        effects are Student's, with HEAVY degrees of freedom (Lange, Little and Taylor 1989, doi:10.1080/01621459.1989.10478852).
        Returns the expected squares of processes' effects, over their variance."""
        kinds = (self.far, self.uneven, self.alone)
        variances = np.repeat([spread.rounds, spread.processes, spread.alone], [*map(len, kinds)])
        far = np.concatenate(kinds) ** 2
        told = self.random.T @ self.solve(left[:, None])[:, 0]
        known = np.einsum("ij,ij->j", self.random, self.solve(self.random))
        squares = far + variances * far**2 * (told**2 - known)
        rounds, processes, rows = np.split(squares, self.parts)
        self.far, self.alone = (np.sqrt((HEAVY + each) / (HEAVY + 1)) for each in (rounds, rows))
        return processes
