"""Programs that a test needs and a machine may lack."""

import os
import shutil

import pytest


def program(name):
    """The path of a program. A test without it is skipped by name; under CI nothing is skipped, and the test fails."""
    path = shutil.which(name)
    if path is None:
        refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        refuse(f"{name} is missing: install it, or run `cargo xtask test`, which does")
    return path
