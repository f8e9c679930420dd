"""Python runs this file at start-up if this folder is on its path."""

import contextlib
import os

with contextlib.suppress(ImportError):  # a Python without undeleted
    from support.noise import SETTING, widen

    if SETTING in os.environ:
        widen(float(os.environ[SETTING]))
