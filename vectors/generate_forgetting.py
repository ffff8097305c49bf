"""Writes forgetting.csv: the square-root factorisation of sums that forget, by mpmath at 40 digits.

    pip install mpmath && python vectors/generate_forgetting.py > vectors/forgetting.csv

For every half-life h in steps, with g = 2^(-1/h):

    forgotten   1 - g
    norm        (2/pi) K(g): the squared norm of every column and row of (1 - g z)^(-1/2) on the stream without end
    ten         the norm of the sum of ten consecutive columns, over ten times that of one

mpmath's ellipk takes the parameter m = g^2. `ten` is summed coefficient by coefficient; half-lives for which that would take long have none.
"""

from mpmath import ellipk, expm1, log, mp, mpf, nstr, pi, sqrt

mp.dps = 40


def ten(g):
    coefficients, terms = [mpf(1)], int(60 / (1 - g)) + 100
    for k in range(1, terms):
        coefficients.append(coefficients[-1] * g * (2 * k - 1) / (2 * k))
    window, squares, single = mpf(0), mpf(0), mpf(0)
    for k, coefficient in enumerate(coefficients):
        window += coefficient - (coefficients[k - 10] if k >= 10 else 0)
        squares += window**2
        single += coefficient**2
    return sqrt(squares / single) / 10


print("half_life,forgotten,norm,ten")
for half_life in [1, 2, 10, 50, 100, 1000, 10**6]:
    forgotten = -expm1(-log(mpf(2)) / half_life)
    g = 1 - forgotten
    apart = nstr(ten(g), 18) if half_life <= 100 else ""
    print(f"{half_life},{nstr(forgotten, 18)},{nstr(2 / pi * ellipk(g * g), 18)},{apart}")
