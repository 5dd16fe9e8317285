"""Graph tests do not see the user's data folder and cache; many run with and without compiled code."""

import pytest

from weyl.graphs import native


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch):
    monkeypatch.delenv("WEYL_DATA", raising=False)
    monkeypatch.setenv("WEYL_CACHE", "off")


@pytest.fixture(params=["compiled", "python"])
def way(request, monkeypatch):
    """Both ways to do the same; where nothing was compiled, the second twice."""
    if request.param == "python":
        monkeypatch.setattr(native, "extension", lambda: None)
    return request.param
