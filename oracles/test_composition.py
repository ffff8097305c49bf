"""Compositions of everything but Gaussians against dp_accounting's privacy-loss distributions."""

import math

import pytest
from dp_accounting.pld import common, privacy_loss_distribution as pld
from mpmath import binomial, exp, mp, mpf

mp.dps = 50

INTERVAL = 1e-4


def laplace(sensitivity, scale):
    event = f'{{ kind = "laplace", sensitivity = {sensitivity}, scale = {scale} }}'
    return event, pld.from_laplace_mechanism(scale, sensitivity, value_discretization_interval=INTERVAL)


def discrete_laplace(sensitivity, scale):
    event = f'{{ kind = "discrete_laplace", sensitivity = {sensitivity}, scale = {scale} }}'
    return event, pld.from_discrete_laplace_mechanism(
        1 / scale, sensitivity, value_discretization_interval=INTERVAL
    )


def discrete_gaussian(sensitivity, sigma):
    event = f'{{ kind = "discrete_gaussian", sensitivity = {sensitivity}, sigma = {sigma} }}'
    return event, pld.from_discrete_gaussian_mechanism(
        sigma, sensitivity, value_discretization_interval=INTERVAL
    )


def gaussian(sensitivity, sigma):
    event = f'{{ kind = "gaussian", sensitivity = {sensitivity}, sigma = {sigma} }}'
    return event, pld.from_gaussian_mechanism(sigma, sensitivity, value_discretization_interval=INTERVAL)


def randomized_response(categories, epsilon):
    event = f'{{ kind = "randomized_response", categories = {categories}, epsilon = {epsilon} }}'
    noise = categories / (math.exp(epsilon) + categories - 1)
    return event, pld.from_randomized_response(noise, categories, value_discretization_interval=INTERVAL)


def approximate(epsilon, delta):
    event = f'{{ kind = "approximate", epsilon = {epsilon}, delta = {delta} }}'
    parameters = common.DifferentialPrivacyParameters(epsilon, delta)
    return event, pld.from_privacy_parameters(parameters, value_discretization_interval=INTERVAL)


def repeated(event, times):
    return f'{{ kind = "repeated", times = {times}, event = {event} }}'


SINGLE = [
    laplace(1.0, 0.7),
    laplace(1.0, 10.0),
    laplace(2.0, 60.0),
    discrete_laplace(1, 2.0),
    discrete_laplace(3, 40.0),
    discrete_gaussian(1, 3.0),
    discrete_gaussian(5, 60.0),
    randomized_response(2, 0.5),
    randomized_response(10, 0.1),
    gaussian(1.0, 20.0),
    approximate(0.1, 1e-13),
]


@pytest.mark.parametrize("times", [1, 7, 100, 1000])
@pytest.mark.parametrize("event,theirs", SINGLE, ids=[event for event, _ in SINGLE])
def test_repetitions_are_within_one_percent(account, event, theirs, times):
    theirs = theirs.self_compose(times)
    for delta in (1e-4, 1e-6, 1e-9):
        reference = theirs.get_epsilon_for_delta(delta)
        ours = account([repeated(event, times)], delta=delta)["epsilon"]
        # dp_accounting rounds upwards too, so being a little below it is no fault.
        assert ours <= 1.01 * reference + 1e-6
        assert ours >= 0.99 * reference - 1e-6


MIXTURES = [
    [(laplace(1.0, 8.0), 20), (gaussian(1.0, 12.0), 10)],
    [(discrete_laplace(1, 15.0), 30), (randomized_response(4, 0.2), 5), (discrete_gaussian(1, 9.0), 3)],
    [(gaussian(1.0, 30.0), 200), (laplace(1.0, 5.0), 1), (randomized_response(2, 1.0), 2)],
    [(approximate(0.05, 1e-12), 27), (gaussian(1.0, 12.0), 10)],
]


@pytest.mark.parametrize("mixture", MIXTURES, ids=range(len(MIXTURES)))
def test_mixtures_are_within_one_percent(account, mixture):
    theirs = None
    events = []
    for (event, one), times in mixture:
        composed = one.self_compose(times)
        theirs = composed if theirs is None else theirs.compose(composed)
        events.append(repeated(event, times))
    for delta in (1e-4, 1e-6, 1e-9):
        reference = theirs.get_epsilon_for_delta(delta)
        ours = account(events, delta=delta)["epsilon"]
        assert 0.99 * reference <= ours <= 1.01 * reference


@pytest.mark.parametrize("epsilon_one,times,epsilon", [(0.5, 20, 3.0), (0.1, 300, 2.0), (1.0, 1, 0.4)])
def test_randomized_response_is_never_below_the_exact_binomial_sum(account, epsilon_one, times, epsilon):
    event, _ = randomized_response(2, epsilon_one)
    truth = 1 / (1 + exp(-mpf(epsilon_one)))
    exact = mpf(0)
    for successes in range(times + 1):
        weight = binomial(times, successes)
        p = weight * truth**successes * (1 - truth) ** (times - successes)
        q = weight * truth ** (times - successes) * (1 - truth) ** successes
        exact += max(mpf(0), p - exp(mpf(epsilon)) * q)
    ours = account([repeated(event, times)], epsilon=epsilon)["delta"]
    assert float(exact) <= ours <= 1.01 * float(exact)


@pytest.mark.parametrize("epsilon_one,delta_one,times", [(0.039, 0.1 / 54, 27), (0.3, 1e-6, 12), (1.0, 0.05, 5)])
def test_approximate_is_the_optimal_composition(account, epsilon_one, delta_one, times):
    # Kairouz, Oh and Viswanath (2015), Theorem 3.3.
    event, _ = approximate(epsilon_one, delta_one)
    e = mpf(epsilon_one)
    for i in range(times // 2 + 1):
        terms = (binomial(times, l) * (exp((times - l) * e) - exp((times - 2 * i + l) * e)) for l in range(i))
        lost = sum(terms) / (1 + exp(e)) ** times
        exact = 1 - (1 - mpf(delta_one)) ** times * (1 - lost)
        ours = account([repeated(event, times)], epsilon=float((times - 2 * i) * e))["delta"]
        assert float(exact) * (1 - 1e-9) <= ours <= 1.01 * float(exact)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.7, 1.3])
def test_one_laplace_is_never_below_its_closed_form(account, epsilon):
    event, _ = laplace(1.0, 0.7)
    exact = max(0.0, 1 - math.exp((epsilon - 1 / 0.7) / 2))
    ours = account([event], epsilon=epsilon)["delta"]
    assert exact * (1 - 1e-14) <= ours <= 1.01 * exact
