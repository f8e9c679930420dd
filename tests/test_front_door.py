"""What users import: typed, complete, and quick to import.

Covers: foundations/registry.py, foundations/types.py, models/_types.py, interfaces/report/result.py,
        interfaces/report/store_results.py, interfaces/cli/durations.py
"""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import undeleted
from undeleted import errors
from undeleted.foundations import registry

ROOT = Path(__file__).parents[1]
FOLDERS = (
    "undeleted.curate.engines",
    "undeleted.curate.mechanisms",
    "undeleted.curate.statistics",
    "undeleted.games.baselines",
    "undeleted.games.leaky",
    "undeleted.models",
)
INTERNAL = {"AuditTimeUp", "BodyTooLarge", "CallFailed", "OutOfTime"}  # no caller sees them


RIGHT = """
import numpy as np

import undeleted
from undeleted import (
    Budget,
    BudgetSpent,
    Category,
    Curator,
    NoisyHistogram,
    NoisyMean,
    NoisySum,
    Number,
    Schema,
)
from undeleted.auditing.verdict import Options
from undeleted.curate.mechanisms import NoisyCount
from undeleted.games.baselines import Retrain
from undeleted.games.baselines.retrain import median
from undeleted.models import LinearRegression
from undeleted.verifying.exact import FiniteWorld

age = Number("age", min=0, max=120)
sex = Category("sex", values=("f", "m"))
curator = Curator(Schema([age, sex], id="person"), Budget(1.0))
try:
    curator.publish(
        {"person": ["a", "b"], "age": [40, 41], "sex": ["f", "m"]},
        {
            "mean age": NoisyMean(age, 0.3),
            "ages": NoisyHistogram((age, sex), Budget(0.3)),
            "people": NoisyCount(budget=0.2),
            "sum": NoisySum(column=age, budget=0.2),
        },
    )
except BudgetSpent as error:
    left: float = error.left
deleted: int = curator.delete("a").deleted
low: float = curator.show("mean age").estimate().low
X = np.linspace(0.0, 10.0, 50)[:, None]
model = LinearRegression(bounds=(0, 10), bounds_y=(0, 30), budget=1.0).fit(X, 3 * X[:, 0])
model.forget(X[:1], 3 * X[:1, 0])
safe: bool | None = undeleted.verify(FiniteWorld.of(lambda: Retrain(median), domain=[0, 1], n=3, k=1)).safe
verdict: str = undeleted.audit("retrain:statistics:median", Options(budget=5)).undeleted
"""
WRONG = """
import undeleted
from undeleted import NoisySumm  # 1: no such mechanism
from undeleted import Budget, BudgetSpent, Curator, NoisyMean, NoisySum, Number, Schema
from undeleted.curate.mechanisms import NoisyMeen  # 2: nor here
from undeleted.models import LinearRegresion  # 3: nor such an estimator
from undeleted.verifying.exact import FiniteWorld

age = Number("age", min=0, max=120)
mean = NoisyMean("age", 1.0)  # 4: a name is not a column
total = NoisySum(age, "1.0")  # 5: a text is not a budget
other = NoisySum(age, noise=1.0)  # 6: the parameter is called budget
budget = Budget(epsilon="one")  # 7: a text is not a number
curator = Curator(Schema([age]), Budget(1.0))
deleted: str = curator.delete("a").deleted  # 8: a count, not a text
left: str = BudgetSpent("x", 1.0, 0.5, 1.0).left  # 9: a number, not a text
verdict: bool = undeleted.verify(FiniteWorld.of(None, domain=[0, 1], n=3, k=1), time_limit="long")  # 10
"""


def public_name(folder, name):
    """What the file holds: a class, or a function of its own name."""
    return registry.find(folder, name).__name__


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_exports_what_its_files_hold(folder):
    module = importlib.import_module(folder)
    files = {public_name(folder, name) for name in registry.names(folder)} - {"scan"}  # a module's own name
    assert files <= set(module.__all__)
    assert all(getattr(module, name).__name__ == name for name in files)
    assert set(module.__all__) - files == {name for name in module.__all__ if name in vars(module)} - files
    assert dir(module) == sorted(module.__all__)


def test_the_package_exports_every_mechanism_and_every_error():
    mechanisms = {
        public_name("undeleted.curate.mechanisms", n) for n in registry.names("undeleted.curate.mechanisms")
    }
    raised = {
        name
        for name, thing in vars(errors).items()
        if isinstance(thing, type) and issubclass(thing, Exception)
    } - INTERNAL
    everyday = {
        "count",
        "histogram",
        "mean",
        "people",
        "publish",
        "publish_more",
        "quantiles",
        "share",
        "synthetic",
        "total",
        "variance",
        "Boolean",
        "Budget",
        "Category",
        "Date",
        "Curator",
        "Growing",
        "Number",
        "Schema",
        "Text",
        "Zcdp",
        "audit",
        "verify",
    }
    assert set(undeleted.__all__) == mechanisms | raised | everyday | {"__version__"}
    assert all(getattr(undeleted, name) is not None for name in undeleted.__all__)


def test_importing_the_package_imports_no_library():
    code = (
        "import sys, undeleted; print(sorted({'numpy', 'opendp', 'sklearn', 'duckdb'} & sys.modules.keys()))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


@pytest.mark.parametrize("name", ["NoisySumm", "nothing"])
def test_a_name_that_is_not_there_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match=name):
        getattr(undeleted, name)


def test_a_users_script_is_checked(tmp_path):
    """The right script passes; of the wrong one every numbered line is found, and no other."""
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    cache = ["--cache-dir", ROOT / ".mypy_cache" / "front-door"]  # numpy's own types take ten seconds
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *cache, "right.py", "wrong.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    lines = enumerate(WRONG.splitlines(), start=1)
    numbered = {("wrong.py", str(i)) for i, line in lines if re.search(r"  # \d+", line)}
    assert len(numbered) == 10
    assert set(re.findall(r"^(\w+\.py):(\d+): error", done.stdout, re.M)) == numbered, (
        done.stdout + done.stderr
    )
