"""Writes potential.csv: the one-dimensional potential of online learning, by mpmath at 30 digits.

    pip install mpmath && python vectors/generate_potential.py > vectors/potential.csv

For every prior, gradient bound G, L = -(sum of gradients) > 0 and V = (sum of their squares):

    ln_w   the logarithm of w = E_v[v exp(v L - v^2 V)]     (3.3.2)
    value  the potential F = E_v[exp(v L - v^2 V) - 1]      (3.3.1), empty where it is not checked

with v on [-C, C], C = 1/(5 G), and the densities

    conjugate  exp(-b v^2) / Z        uniform  1 / (2 C)
    improper   1 / |v|                cv       1 / (2 |v| (1 + ln(C/|v|))^2)

Every input is a double, taken exactly. Everything is integrated as it is defined: no closed form is used.
"""

from mpmath import exp, expm1, log, mp, mpf, nstr, quad, sqrt

mp.dps = 30


def panels(a, q):
    """Where to cut (0, 1) so that exp(u a - u^2 q) is smooth on every part, and where it is negligible."""
    peak = min(a / (2 * q), mpf(1))
    width = 1 / max(sqrt(2 * q), a - 2 * q * peak, mpf(1))
    cuts = [peak + k * width for k in (-90, -40, -16, -8, -4, -2, 0, 2, 4, 8, 16, 40)]
    if peak > 90 * width:
        # Below the first cut is less than exp(-89) of the peak.
        low = [cut for cut in cuts if cut > 0][0]
    else:
        low = mpf(0)
        scale = min(peak + width, mpf(1))
        cuts += [scale * mpf(10) ** -k for k in (1, 2, 4, 8, 12)]
    high = min(peak + 80 * width, mpf(1))
    return sorted({cut for cut in cuts if low < cut < high} | {low, high}), peak


def integrate(prior, kernel, cuts):
    """The integral of density(u) kernel(u) over the positive half of the prior, u = v / C."""
    if prior == "cv":
        # s = 1/(1 - ln u) makes it uniform.
        s = [1 / (1 - log(u)) if u > 0 else mpf(0) for u in cuts]
        density = lambda s: kernel(exp(1 - 1 / s)) / 2
        if s[0] == 0:
            # The kernel is smooth in u, which vanishes faster than any power of s.
            s = [mpf(0), mpf("0.005"), mpf("0.01"), mpf("0.02"), mpf("0.03")] + [x for x in s if x > 0.03]
        return quad(density, s, method="gauss-legendre")
    if prior == "improper":
        return quad(lambda u: kernel(u) / u, cuts, method="gauss-legendre")
    return quad(kernel, cuts, method="gauss-legendre")


def evaluate(prior, b, g, total, squares, with_value):
    c = 1 / (5 * mpf(g))
    b = mpf(b)
    a, q = c * mpf(total), c * c * (mpf(squares) + b)
    cuts, peak = panels(a, q)
    top = peak * a - peak * peak * q
    slope = integrate(prior, lambda u: u * exp(u * a - u * u * q - top) * -expm1(-2 * u * a), cuts)
    mass = {
        "conjugate": lambda: 2 * quad(lambda u: exp(-u * u * c * c * b), panels(mpf(0), c * c * b)[0]),
        "uniform": lambda: mpf(2),
        "improper": lambda: mpf(1),
        "cv": lambda: mpf(1),
    }[prior]()
    ln_w = top + log(slope / mass) + log(c)
    if not with_value or top > 600:
        return ln_w, None
    # exp(x) + exp(-x) - 2 = 4 sinh(x/2)^2 without cancellation; the rest is the value at L = 0.
    grown = integrate(prior, lambda u: exp(u * a - u * u * q) * expm1(-u * a) ** 2, cuts)
    at_zero = integrate(
        prior,
        lambda u: 2 * (exp(-u * u * q) - exp(-u * u * c * c * b)),
        panels(mpf(0), q)[0] if q < 10 else sorted(set(panels(mpf(0), q)[0]) | {mpf(1)}),
    )
    return ln_w, (grown + at_zero) / mass


def cases():
    count = 0
    for prior in ("conjugate", "uniform", "improper", "cv"):
        for g in (0.1, 1.0, 30.0):
            for exponent in range(-9, 13):
                squares = 10.0**exponent
                b = 1.0 if prior == "conjugate" else 0.0
                root = (squares + b) ** 0.5
                for a in (1e-9, 1e-3, 0.3, 1.0, 3.0, 12.0, 300.0):
                    count += 1
                    if count % 3 == 0:
                        yield prior, b, g, 2 * a * root, squares, count % 4 == 0
                # At the edge of the prior and beyond it.
                for ratio in (0.999, 1.0, 1.7, 40.0):
                    count += 1
                    if count % 4 == 0:
                        yield prior, b, g, ratio * 2 * (squares + b) / (5 * g), squares, count % 3 == 0
    for b in (1e-6, 0.04, 30.0, 1e6):
        for squares in (0.0, 1e-3, 1.0, 1e4):
            for a in (1e-3, 1.0, 7.0):
                yield "conjugate", b, 1.0, 2 * a * (squares + b) ** 0.5, squares, a == 1.0


print("prior,b,gradient_bound,sum,squares,ln_w,value")
for prior, b, g, total, squares, with_value in cases():
    ln_w, value = evaluate(prior, b, g, total, squares, with_value)
    value = "" if value is None else nstr(value, 20)
    print(f"{prior},{b!r},{g!r},{total!r},{squares!r},{nstr(ln_w, 20)},{value}", flush=True)
