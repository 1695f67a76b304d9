#!/usr/bin/env python3
"""make-change-points.py: writes tests/golden/change-points.txt, the values that tests/unit/test_change_points.c expects of results/change_points.c.

Needs Python alone:  python3 tests/golden/make-change-points.py > tests/golden/change-points.txt
Everything is computed from its definition, slowly: every mean over pairs anew in fractions, every p from the finite series of Student's
distribution (Abramowitz and Stegun, 26.7.3 and 26.7.4) with 150 digits. Lines: a kind, then
student       T FREEDOM P
change-points ALPHA MIN_EFFECT COUNT VALUES... FOUND, and of each change point POSITION BEFORE AFTER P
"""
import random
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 150
LEAST = 2


def decimal(value):
    value = Fraction(value)
    return Decimal(value.numerator) / Decimal(value.denominator)


def arctangent(x):
    """Halves the angle until the series is short."""
    halvings = 0
    while abs(x) > Decimal("0.01"):
        x = x / (1 + (1 + x * x).sqrt())
        halvings += 1
    total, power, k = Decimal(0), x, 0
    while abs(power) > Decimal(10) ** -160:
        total += power / (2 * k + 1) * (-1) ** k
        power *= x * x
        k += 1
    return total * 2**halvings


PI = 4 * arctangent(Decimal(1))


def student_p(t_squared, freedom):
    """1 - A(t | freedom), by its series in the cosine of theta = arctan(t / sqrt(freedom))."""
    t_squared = decimal(t_squared)
    cosine_squared = freedom / (freedom + t_squared)
    sine = (t_squared / (freedom + t_squared)).sqrt()
    if freedom % 2 == 0:
        term = total = Decimal(1)
        for k in range(2, freedom, 2):
            term *= cosine_squared * (k - 1) / k
            total += term
        inside = sine * total
    else:
        term = cosine_squared.sqrt()
        total = term if freedom > 1 else Decimal(0)
        for k in range(3, freedom - 1, 2):
            term *= cosine_squared * (k - 1) / k
            total += term
        inside = 2 / PI * (arctangent((t_squared / freedom).sqrt()) + sine * total)
    return 1 - inside


def mean(values):
    return sum(values) / len(values)


def mean_distance(values):
    return mean([abs(a - b) for i, a in enumerate(values) for b in values[:i]])


def energy(x, y):
    distance = 2 * mean([abs(a - b) for a in x for b in y]) - mean_distance(x) - mean_distance(y)
    return Fraction(len(x) * len(y), len(x) + len(y)) * distance


def test(x, y, places):
    """Before, after, and p of Student's two-sided test with one variance, times the places."""
    before, after = mean(x), mean(y)
    if before == after:
        return before, after, Decimal(1)
    freedom = len(x) + len(y) - 2
    variance = (sum((v - before) ** 2 for v in x) + sum((v - after) ** 2 for v in y)) / freedom
    if variance == 0:
        return before, after, Decimal(0)
    t_squared = (after - before) ** 2 / (variance * (Fraction(1, len(x)) + Fraction(1, len(y))))
    return before, after, min(Decimal(1), student_p(t_squared, freedom) * places)


def divide(values, start, end, alpha, places):
    """The cuts between start and end."""
    if end - start < 2 * LEAST:
        return []
    q, cut, stop = max(
        (energy(values[start:cut], values[cut:stop]), cut, stop)
        for cut in range(start + LEAST, end - LEAST + 1)
        for stop in range(cut + LEAST, end + 1)
    )
    if q <= 0 or test(values[start:cut], values[cut:stop], places)[2] > alpha:
        return []
    return divide(values, start, cut, alpha, places) + [cut] + divide(values, cut, end, alpha, places)


def change_points(values, alpha, min_effect):
    values = [Fraction(v) for v in values]
    alpha, min_effect = Decimal(alpha), Fraction(min_effect)
    places = len(values) - 2 * LEAST + 1
    cuts = divide(values, 0, len(values), alpha, places)
    while True:
        bounds = [0] + cuts + [len(values)]
        found = []
        for start, cut, end in zip(bounds, cuts, bounds[2:]):
            before, after, p = test(values[start:cut], values[cut:end], places)
            found.append((cut, before, after, p))
        unsure = [point for point in found if point[3] > alpha]
        small = [point for point in found if abs(point[2] - point[1]) < min_effect * abs(point[1])]
        if unsure:
            cuts.remove(max(unsure, key=lambda point: point[3])[0])
        elif small:
            cuts.remove(min(small, key=lambda point: abs(point[2] - point[1]) / abs(point[1]))[0])
        else:
            return found


def show(values, alpha=0.01, min_effect=0.0):
    values = [float(v) for v in values]
    found = change_points(values, alpha, min_effect)
    words = ["change-points", alpha, min_effect, len(values), *(repr(v) for v in values), len(found)]
    for cut, before, after, p in found:
        words += [cut, repr(float(before)), repr(float(after)), repr(float(p))]
    print(*words)


draw = random.Random(20261130)


def noisy(*levels, scale=1.0, sd=1.0):
    return [scale * (level + sd * draw.gauss(0, 1)) for level, count in levels for _ in range(count)]


for t, freedom in [(0.0, 3), (1e-6, 4), (0.5, 1), (1.0, 2), (2.0, 5), (2.5, 30), (12.7, 1), (10.0, 6), (50.0, 7), (40.0, 100), (3.0, 1001), (1e6, 2)]:
    print("student", repr(t), freedom, repr(float(student_p(Fraction(t) ** 2, freedom))))
for count in [1, 2, 3, 4, 5, 12, 30]:
    show(noisy((100, count)))
    show(noisy((100, count)), alpha=0.3)  # so that chance makes some
for count, at in [(4, 2), (6, 2), (8, 5), (12, 10), (20, 6), (30, 28)]:
    show(noisy((100, at), (120, count - at)))
    show(noisy((16, at), (14.4, count - at), scale=1e6, sd=0.2))
show(noisy((100, 9), (110, 1)))  # one value is no level
show(noisy((100, 5), (110, 1), (100, 6)))
show(noisy((100, 8), (106, 7), (113, 9)))
show(noisy((100, 10), (108, 3), (100, 12)))  # comes and goes
show(noisy((100, 10), (100.0, 2), (94, 12), (104, 2)))
show(noisy((0, 8), (0.4, 6), sd=0.05))  # from about nothing
show(noisy((-5, 8), (-9, 8)))
show(noisy((100, 8), (103, 8), (112, 8), sd=0.3), min_effect=0.05)
show(noisy((100, 8), (103, 8), (112, 8), sd=0.3), min_effect=0.2)
show([100 + 0.5 * i for i in range(16)])  # a drift
show([7.0] * 8)
show([0.1] * 3 + [0.3] * 3)
show([0.1] * 4 + [0.3] * 2)
show([5.0] * 4 + [6.0] * 4 + [5.0] * 4)
