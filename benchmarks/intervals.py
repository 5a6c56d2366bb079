"""How often simultaneous intervals hold all together: python benchmarks/intervals.py."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from graphbandits.results import differences, standard_error

EXPERIMENTS, CONFIDENCE, POLICIES = 10_000, 0.9, 4


def main() -> None:
    differences.DIRECTIONS = 2**10  # good to a few hundredths: enough for shares
    generator = np.random.default_rng(0)
    first, second = np.array(list(combinations(range(POLICIES), 2))).T
    print(f"{POLICIES} normal policies, all pairs, nominal {CONFIDENCE:.0%}; a few minutes")
    for trials in (10, 20, 50, 200):
        held = 0
        for _ in range(EXPERIMENTS):
            final = generator.normal(size=(trials, POLICIES))
            paired = final[:, first] - final[:, second]
            t = np.abs(paired.mean(axis=0)) / standard_error(paired)
            held += bool((t <= differences.max_t(paired, CONFIDENCE)).all())
        share = held / EXPERIMENTS
        error = np.sqrt(share * (1.0 - share) / EXPERIMENTS)
        print(f"{trials:4} trials: {share:.1%}, standard error {error:.1%}")


if __name__ == "__main__":
    main()
