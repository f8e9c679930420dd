"""Secure noise that is wider than its law: which tests leave too little room for it?

A test that noise fails with probability p fails with about p^(1/K) when Laplace noise is K times as wide, so
that a few runs show what thousands would.  Only tests can do this: the product reads no such setting.
"""

import importlib
import math
import os
from dataclasses import replace
from pathlib import Path

from undeleted.foundations.coins import DiscreteGaussian, DiscreteLaplace

SETTING = "UNDELETED_TESTS_WIDER_NOISE"
HERE = Path(__file__).parent


def widen(times: float) -> None:
    """From now on, in this process."""
    module = importlib.import_module("undeleted.foundations.coins.secure")
    measurement = module._measurement
    if hasattr(measurement, "times"):  # by `sitecustomize` already
        return

    def wider(law):
        if isinstance(law, DiscreteLaplace):
            law = replace(law, scale=times * law.scale)
        elif isinstance(law, DiscreteGaussian):
            law = replace(law, sigma=math.sqrt(times) * law.sigma)
        return measurement(law)

    wider.times = times
    module._measurement = wider


def widen_everywhere(times: float) -> None:
    """In this process, and in every Python that it starts (`wider/sitecustomize.py`)."""
    os.environ[SETTING] = str(times)
    paths = [str(HERE / "wider"), str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
    widen(times)
