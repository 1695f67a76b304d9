#!/usr/bin/env python3
"""make-statistics.py: writes tests/golden/statistics.txt, the values that tests/unit/test_comparison.c expects of results/comparison.c.

Made with SciPy 1.10.1 and NumPy 1.24.2 (Debian 12's python3-scipy):  python3 tests/golden/make-statistics.py > tests/golden/statistics.txt
The test reads the file and needs neither. Lines: a kind, the two samples as "count values...", then what is expected.
mann-whitney U P      scipy.stats.mannwhitneyu, exact or asymptotic; with ties every split is counted here, since SciPy's exact method is
                      for samples without ties
shift D, delta D      numpy.median of all differences; the definition of Cliff's delta
bootstrap CONFIDENCE SEED RATIO_LOW RATIO_HIGH LOW HIGH   numpy.quantile over resamples drawn from Philox4x32-10 as written here
holm                  the p values, then the adjusted ones, by the definition (Holm, 1979)
"""
import itertools
import numpy
from scipy import stats

MASK = 0xFFFFFFFF


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & MASK, (p0 >> 32) ^ c[3] ^ k[1], p0 & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


class Stream:
    """rng_stream(seed, cell, 0, RNG_BOOTSTRAP) of harness/base/rng.c."""

    def __init__(self, seed, cell):
        self.key, self.counter, self.block = (seed & MASK, seed >> 32), [0, cell, 0, 9], []

    def u32(self):
        if not self.block:
            self.block = philox(self.counter, self.key)
            self.counter[0] += 1
        return self.block.pop(0)

    def below(self, bound):
        product = self.u32() * bound
        if product & MASK < bound:
            threshold = (-bound & MASK) % bound
            while product & MASK < threshold:
                product = self.u32() * bound
        return product >> 32


def spell(values):
    return " ".join([str(len(values))] + [repr(float(v)) for v in values])


def exact_by_splits(base, candidate):
    pool = numpy.concatenate([base, candidate])
    ranks = stats.rankdata(pool)
    observed = sum(ranks[: len(base)])
    below = above = count = 0
    for chosen in itertools.combinations(range(len(pool)), len(base)):
        total = sum(ranks[list(chosen)])
        below += total <= observed + 1e-9
        above += total >= observed - 1e-9
        count += 1
    return observed - len(base) * (len(base) + 1) / 2, min(1, 2 * min(below, above) / count)


def mann_whitney(base, candidate):
    tied = len(set(base) | set(candidate)) < len(base) + len(candidate)
    if max(len(base), len(candidate)) <= 20:
        if tied:
            u, p = exact_by_splits(base, candidate)
        else:
            u, p = stats.mannwhitneyu(base, candidate, alternative="two-sided", method="exact")
    else:
        u, p = stats.mannwhitneyu(base, candidate, alternative="two-sided", method="asymptotic", use_continuity=True)
    print("mann-whitney", spell(base), spell(candidate), repr(float(u)), repr(float(p)))


def effects(base, candidate):
    differences = numpy.subtract.outer(candidate, base)
    print("shift", spell(base), spell(candidate), repr(float(numpy.median(differences))))
    delta = (numpy.sum(differences > 0) - numpy.sum(differences < 0)) / differences.size
    print("delta", spell(base), spell(candidate), repr(float(delta)))


def bootstrap(base, candidate, confidence, seed, resamples=4000):
    rng = Stream(seed, 0)
    ratios, differences = [], []
    for _ in range(resamples):
        before = numpy.median([base[rng.below(len(base))] for _ in base])
        after = numpy.median([candidate[rng.below(len(candidate))] for _ in candidate])
        ratios.append(after / before)
        differences.append(after - before)
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    found = list(numpy.quantile(ratios, ends)) + list(numpy.quantile(differences, ends))
    print("bootstrap", spell(base), spell(candidate), confidence, seed, " ".join(repr(float(v)) for v in found))


def holm(p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted, before = [0.0] * len(p), 0.0
    for k, i in enumerate(order):
        before = max(before, min(1.0, p[i] * (len(p) - k)))
        adjusted[i] = before
    print("holm", spell(p), spell(adjusted))


draw = numpy.random.default_rng(20261129)
for n, m in [(1, 1), (3, 3), (4, 4), (5, 7), (6, 6), (6, 10), (12, 12), (20, 20), (1, 20), (21, 20), (25, 40), (300, 200)]:
    base, candidate = draw.lognormal(3, 0.1, n), draw.lognormal(3.05, 0.1, m)
    mann_whitney(base, candidate)
    if n * m <= 500:
        effects(base, candidate)
mann_whitney(numpy.arange(6.0), numpy.arange(6.0) + 10)  # no overlap: 2 / C(12, 6)
for n, m in [(4, 4), (6, 6), (5, 8), (7, 7), (30, 25)]:
    base, candidate = draw.integers(0, 5, n).astype(float), draw.integers(1, 6, m).astype(float)
    mann_whitney(base, candidate)
    effects(base, candidate)
mann_whitney(numpy.ones(6), numpy.ones(6))
mann_whitney(numpy.ones(30), numpy.ones(30) * 2)
for n, m, confidence, seed in [(6, 6, 0.95, 1), (6, 7, 0.99, 18446744073709551615), (11, 40, 0.9, 12345678901234567890)]:
    bootstrap(draw.lognormal(16, 0.02, n), draw.lognormal(16.05, 0.02, m), confidence, seed)
holm([0.01])
holm([0.04, 0.01, 0.03, 0.005])
holm([0.9, 0.5, 0.5, 0.00216450216450216, 0.2])
