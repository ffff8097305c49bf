"""Tests of programs that a machine lacks are skipped by name, and never under CI."""

import pytest

from optional import program


def test_a_missing_program_is_skipped_and_fails_under_ci(monkeypatch):
    assert program("python3")
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no-such-program"):
        program("no-such-program")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no-such-program"):
        program("no-such-program")
