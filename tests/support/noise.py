"""Make secure noise wider than its law, to find the tests with too little margin for noise.

If noise makes a test fail with probability p, it fails with about p^(1/K) when Laplace noise is K times as
wide: a few runs show what would take thousands.  Only tests can do this; the product has no such setting.
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
    """Widen secure noise in this process from now on."""
    module = importlib.import_module("undeleted.foundations.coins.secure")
    measurement = module._measurement
    if hasattr(measurement, "times"):  # already done by `sitecustomize`
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
    """Widen secure noise here and in every Python process started from here (`wider/sitecustomize.py`)."""
    os.environ[SETTING] = str(times)
    paths = [str(HERE / "wider"), str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
    widen(times)
