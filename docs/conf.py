"""How the documentation is built: `make docs`.  Nothing is loaded from anywhere when it is read."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import generated

import undeleted

project = "undeleted"
author = "the authors of undeleted"
project_copyright = "the authors of undeleted"
version = release = undeleted.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "results", "generated.py"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # pages of figures begin where they like
nitpicky = False
autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autosummary_generate = False
napoleon_use_ivar = True
napoleon_numpy_docstring = True

html_theme = "furo"
html_title = "undeleted"
html_show_sourcelink = False
html_copy_source = False


def setup(app):  # type: ignore[no-untyped-def]
    """The reference is generated again before every build; it leaves out the internals of scikit-learn."""
    app.connect("builder-inited", lambda _: generated.write())
    app.connect("autodoc-skip-member", skip)


def skip(app, what, name, thing, skipped, options):  # type: ignore[no-untyped-def]
    return True if name.startswith("set_") and name.endswith("_request") else None
