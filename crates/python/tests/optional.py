"""Packages that a test needs and a machine may lack."""

import importlib
import os

import pytest


def package(name):
    """The package. A test without it is skipped by name; under CI nothing is skipped, and the test fails."""
    if os.environ.get("CI") == "true":
        return importlib.import_module(name)
    return pytest.importorskip(name)
