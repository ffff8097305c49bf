"""The accountant against dp_accounting, and noise that is never the same twice."""

import math
import pickle

import numpy
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from reticent import ReticentError
from reticent.privacy import Accountant, Event, delta, discrete_gaussian, discrete_laplace, epsilon, shuffle_epsilon, sigma

# dp_accounting's grid: its rounding up and its rounding down bracket the true value.
GRID = 1e-3


def compositions(count):
    """Random mixtures of Gaussian and Laplace releases, and a delta."""
    draws = numpy.random.default_rng(20240607)
    for _ in range(count):
        parts = []
        for _ in range(draws.integers(1, 4)):
            laplace = bool(draws.integers(2))
            scale = float(draws.uniform(1.0, 20.0))
            parts.append((laplace, scale, int(draws.integers(1, 11))))
        yield parts, float(10 ** draws.uniform(-8, -3))


def theirs(parts, pessimistic):
    def one(laplace, scale):
        make = pld.from_laplace_mechanism if laplace else pld.from_gaussian_mechanism
        dots = {"pessimistic_estimate": pessimistic, "use_connect_dots": pessimistic}
        return make(scale, value_discretization_interval=GRID, **dots)

    whole = None
    for laplace, scale, times in parts:
        part = one(laplace, scale).self_compose(times) if times > 1 else one(laplace, scale)
        whole = part if whole is None else whole.compose(part)
    return whole


def exact(parts):
    """mu if all parts are Gaussian."""
    if any(laplace for laplace, _, _ in parts):
        return None
    return math.sqrt(sum(times / scale**2 for _, scale, times in parts))


def test_500_random_compositions_agree_with_dp_accounting():
    """Never below the true value, and never more than 1 % above.

    The true value lies between dp_accounting's two roundings (its lower one loses the mass it cuts off, 1e-15 or so). Where a
    composition is Gaussian alone it is known by itself: mu^2 = sum 1/sigma^2.
    """
    gaussian = 0
    for number, (parts, at) in enumerate(compositions(500)):
        accountant = Accountant()
        for laplace, scale, times in parts:
            event = Event.laplace(1.0, scale) if laplace else Event.gaussian(1.0, scale)
            accountant.spend(event, times)
        ours = accountant.epsilon(at)
        above = theirs(parts, True).get_epsilon_for_delta(at)
        assert ours <= above * 1.01 + 1e-9, (number, parts, at)
        mu = exact(parts)
        if mu is None:
            below = theirs(parts, False).get_epsilon_for_delta(at)
            assert below * (1 - 1e-9) <= ours, (number, parts, at)
        else:
            gaussian += 1
            true = epsilon(1.0 / mu, at)
            assert true * (1 - 1e-9) <= ours <= true * (1 + 1e-9), (number, parts, at)
    assert gaussian > 50


def test_half_the_noise_would_fail_this_test():
    """A planted mistake: an accountant that forgets one of two releases is below what dp_accounting allows."""
    parts = [(True, 4.0, 2), (False, 5.0, 1)]
    forgetful = Event.laplace(1.0, 4.0) + Event.gaussian(1.0, 5.0)
    assert forgetful.epsilon(1e-6) < theirs(parts, False).get_epsilon_for_delta(1e-6)


def test_the_calculator_is_consistent_and_refuses():
    noise = sigma(1.0, 1e-5, sensitivity=2.0, compose=7)
    assert epsilon(noise, 1e-5, sensitivity=2.0, compose=7) == pytest.approx(1.0, rel=1e-9)
    assert delta(noise, 1.0, sensitivity=2.0, compose=7) == pytest.approx(1e-5, rel=1e-9)
    assert shuffle_epsilon(2.0, 100_000, 1e-6) < 0.2
    for call, words in [
        (lambda: sigma(-1.0, 1e-5), "epsilon: got -1; expected a finite number above 0"),
        (lambda: sigma(1.0, 0.0), "delta: got 0; expected a number strictly between 0 and 1"),
        (lambda: epsilon(1.0, math.nan), "delta: got NaN; expected a number strictly between 0 and 1"),
        (lambda: shuffle_epsilon(1.0, 0, 1e-6), "people: got 0; expected a whole number, 1 or above"),
    ]:
        with pytest.raises(ReticentError, match=words):
            call()


def test_events_have_their_parameters_and_prices():
    month = Event.gaussian(1.0, 20.0) * 30 + Event.randomized_response(3, 0.5)
    assert pickle.loads(pickle.dumps(month)) == month == Event(month.to_dict())
    assert Event({"kind": "gaussian", "sensitivity": 1.0, "sigma": 2.0}) == Event.gaussian(1.0, 2.0)
    assert Event.pure(0.5).epsilon(1e-9) <= 0.5 and Event.approximate(0.5, 1e-6).delta(0.5) >= 1e-6
    assert Event.shuffled(2.0, 1000).guarantee("shuffle", 1e-6).model == "shuffle"
    accountant = pickle.loads(pickle.dumps(Accountant()))
    accountant.spend(month)
    assert accountant.events == [month] and accountant.guarantee("joint", 1e-6).epsilon == month.epsilon(1e-6)
    for call in (
        lambda: Event.gaussian(1.0, 0.0),
        lambda: Event({"kind": "poisson"}),
        lambda: Event.shuffled(2.0, 10).guarantee("local", 1e-6),
        lambda: Event.laplace(1.0, 1.0) * 0,
    ):
        with pytest.raises(ReticentError):
            call()


def test_noise_has_its_law_and_is_fresh():
    """Means and variances within 6 standard errors: a false alarm in 5e8 runs for each of the four."""
    for draws, variance, fourth in (
        (discrete_gaussian(100, size=200_000), 100.0**2, 3.0),
        (discrete_laplace(30, size=200_000), 2 * 30.0**2, 6.0),
    ):
        assert draws.dtype == numpy.int64
        assert abs(draws.mean()) < 6 * math.sqrt(variance / len(draws))
        assert abs(draws.var() / variance - 1) < 6 * math.sqrt((fourth - 1) / len(draws)) + 1e-3
    assert isinstance(discrete_laplace(1, 3), int)
    # Two calls that share a key would agree in all places; by chance that happens once in 10^200.
    assert (discrete_gaussian(100, size=100) != discrete_gaussian(100, size=100)).any()
    with pytest.raises(ReticentError, match="sigma"):
        discrete_gaussian(0)
    with pytest.raises(ReticentError, match="size: got"):
        discrete_gaussian(1, size=2**59)


def test_a_guarantee_has_a_page_with_everything_escaped():
    guarantee = Event.gaussian(sensitivity=1.0, sigma=3.730631634816464).guarantee("joint", delta=1e-5)
    page = guarantee.page("<b>mine</b>")
    assert page.startswith("<!DOCTYPE html>") and "&lt;b&gt;mine" in page and "<b>" not in page
    assert "55.4 %" in page and "http" not in page
