"""Errors of the Python package have the form of all crates: `field: got value; remedy`, or `field: missing; remedy`."""

import re

import numpy
import pytest

import reticent
from reticent import Client, lab

FORM = r"^[^:]+: (got .+|missing); .+"

REFUSED = {
    "bound": lambda: reticent.LinUCB(0),
    "whole number": lambda: reticent.LinUCB(-1),
    "epsilon": lambda: reticent.JointBandit(5, 0.0, 1e-6, 100),
    "choice": lambda: reticent.JointBandit(5, 1.0, 1e-6, 100, mechanism="oak"),
    "vector": lambda: reticent.LinUCB(2).decide(numpy.array([[1.0, 2.0, 3.0]])),
    "ticket": lambda: reticent.LinUCB(2).observe("7" * 32, 0.5),
    "range": lambda: reticent.Features(context={"age": {"range": [80, 18]}}, action={"x": {"range": [0, 1]}}),
    "state": lambda: reticent.LinUCB.load(b"damaged"),
    "file": lambda: lab.run("nowhere.toml"),
    "key of a file": lambda: lab.run("name = 'x'\nrouns = 10\n"),
    "engine": lambda: lab.run("name = 'x'\n", engine="oak"),
    "address": lambda: Client("ftp://127.0.0.1", "home"),
    "timeout": lambda: Client("http://127.0.0.1:1", "home", timeout=0),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_an_error_has_the_form(refused):
    with pytest.raises(reticent.ReticentError) as error:
        refused()
    assert re.match(FORM, str(error.value), re.DOTALL), error.value
