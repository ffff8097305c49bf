"""Tests that a machine cannot run are skipped by name, and never under CI."""

import pytest

from optional import package


def test_a_missing_package_is_skipped(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no_such_package"):
        package("no_such_package")


def test_a_missing_package_fails_under_ci(monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        package("no_such_package")
    assert package("json").loads("1") == 1
