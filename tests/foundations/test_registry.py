"""The folder is the registry, and nothing is imported to list it."""

import subprocess
import sys

import pytest

from undeleted.curate import mechanisms
from undeleted.errors import UnknownName
from undeleted.foundations import registry
from undeleted.games import baselines

FOLDERS = ["mechanisms", "estimators", "leaky", "baselines", "attacks", "statistics", "engines"]


@pytest.mark.parametrize("kind", FOLDERS)
def test_every_file_has_a_summary_and_its_one_public_thing(kind):
    folder = registry.HOMES[kind]
    for name in registry.names(folder):
        assert 20 < len(registry.summary(folder, name)) < 110
        assert registry.find(folder, name).__doc__


def test_names_resolve_on_demand():
    assert mechanisms.NoisySum is registry.find("undeleted.curate.mechanisms", "noisy-sum")
    assert baselines.XorPad.__name__ == "XorPad"
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = mechanisms.Nonsense


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UnknownName, match="Did you mean 'noisy-sum'"):
        registry.find("undeleted.curate.mechanisms", "noisy-sums")


def test_listing_and_help_import_neither_opendp_nor_scipy():
    code = (
        "import sys; from undeleted.interfaces.cli import run; run(['list', 'attacks']); run(['--help']);"
        "assert 'opendp' not in sys.modules and 'scipy' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_every_attack_says_what_it_controls_learns_and_predicts():
    for name in registry.names("undeleted.games.attacks"):
        facts = registry.constant("undeleted.games.attacks", name, "FACTS")
        assert list(facts) == ["claim", "controls", "learns", "predicts"]
        assert facts["claim"] in {f"P{i}" for i in range(1, 10)}
    claims = {
        registry.constant("undeleted.games.attacks", n, "FACTS")["claim"]
        for n in registry.names("undeleted.games.attacks")
    }
    assert claims == {f"P{i}" for i in range(1, 10)}
