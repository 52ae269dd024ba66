"""What the variances of several samples have in common, so that each one's own few numbers need not tell it alone."""

import numpy as np
from scipy import special

# Degrees of freedom that are tried for what samples have in common.
FREEDOMS = np.logspace(-1, 3, 41)
NOISE_CELLS = 10  # fewer do not tell how noisy a run is
LEAST_VARIANCE = 1e-12  # of logarithms: times that agree to the sixth digit


def profile(variances: np.ndarray, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(log likelihood, likeliest variance) of a prior with each of FREEDOMS, by variances of cells that are known with
    `degrees` of freedom each: they scatter about a common one, and the less they do the more each learns from all (Smyth
    2004, doi:10.2202/1544-6115.1027)."""
    freedoms = FREEDOMS[:, None]
    squares = degrees * (variances := np.maximum(variances, LEAST_VARIANCE))
    low, high = (np.full_like(FREEDOMS, np.log(end)) for end in (variances.min(), variances.max()))
    for _ in range(30):
        middle = (low + high) / 2
        shares = squares / (freedoms * np.exp(middle)[:, None] + squares)
        rising = ((freedoms + degrees) * shares - degrees).sum(axis=1) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    common = np.exp(middle)
    # F's density: stats.f.logpdf takes ten times as long.
    odds = squares / (freedoms * common[:, None])
    found = degrees / 2 * np.log(odds) - (freedoms + degrees) / 2 * np.log1p(odds)
    return (found - special.betaln(degrees / 2, freedoms / 2)).sum(axis=1), common


def drawn(variances: np.ndarray, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(variances drawn towards what they likeliest have in common, degrees of freedom that they are then known with)."""
    likelihoods, common = profile(variances, degrees)
    prior, middle = FREEDOMS[best := likelihoods.argmax()], common[best]
    return (prior * middle + degrees * variances) / (prior + degrees), prior + degrees


def moderated(variances: np.ndarray, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As `drawn`; of fewer than NOISE_CELLS nothing tells how much they have in common: then half way to their geometric mean, which
    one that is much larger than the others hardly moves."""
    if (count := len(variances)) < NOISE_CELLS:
        # A variance's logarithm is on average so much smaller than the logarithm of what it estimates.
        smaller = special.digamma(degrees / 2) - np.log(degrees / 2)
        beside = np.exp(np.mean(np.log(variances) - smaller))
        return (variances + beside) / 2, degrees * min(4 * count / (count + 3), 2)
    return drawn(variances, degrees)
