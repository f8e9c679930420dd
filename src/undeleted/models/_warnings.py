"""Warnings that point at the user's own line."""

import sys
import warnings


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the first line outside of this folder."""
    frame, level = sys._getframe(1), 2
    here = __file__.rpartition("/")[0]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
