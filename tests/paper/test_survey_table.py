"""The survey: every definition runs on every curator, and agrees with the paper where the paper decides.

Covers: paper/definitions/*.py, paper/answers.py, paper/specimens.py
"""

import ast
import importlib
import inspect
import json
from dataclasses import replace
from fractions import Fraction

import pytest

from undeleted.foundations import registry
from undeleted.interfaces.report.survey import page
from undeleted.paper.definitions.chourasia_shah_2023 import chourasia_shah_2023
from undeleted.paper.specimens import batch_queries, specimen, specimens
from undeleted.paper.survey_table import FOLDER, about, ask, in_order, survey
from undeleted.verifying.exact import verify

NAMES = registry.names(FOLDER)


MANY = "tree-counter"  # whose noise makes so many worlds that it takes four fifths of the survey's time
FEW = tuple(name for name in specimens() if name != MANY)


@pytest.fixture(scope="module")
def cells():
    return survey(on=FEW)


@pytest.fixture(scope="module")
def holds(cells):
    return {(cell.definition, cell.specimen): cell.answer.holds for cell in cells}


def test_every_cell_that_the_paper_decides_agrees(cells):
    decided = [cell for cell in cells if cell.claim is not None]
    assert len(decided) >= 55
    assert [(c.definition, c.specimen) for c in decided if not c.agrees] == []


@pytest.mark.slow
def test_every_cell_of_the_tree_counter_agrees():
    cells = survey(on=(MANY,))
    decided = [cell for cell in cells if cell.claim is not None]
    assert decided
    assert [c.definition for c in decided if not c.agrees] == []
    assert all(cell.answer.witness for cell in cells)


def test_the_table_has_every_definition_and_every_curator(cells):
    assert len(cells) == len(NAMES) * len(FEW)
    assert sorted(in_order()) == sorted(NAMES)
    assert all(cell.answer.witness for cell in cells)
    json.dumps([cell.as_json() for cell in cells])


@pytest.mark.parametrize("name", NAMES)
def test_no_definition_reads_what_the_paper_claims(name):
    module = importlib.import_module(f"{FOLDER}.{name.replace('-', '_')}")
    functions = [n for n in ast.parse(inspect.getsource(module)).body if isinstance(n, ast.FunctionDef)]
    assert functions
    read = {node.id for f in functions for node in ast.walk(f) if isinstance(node, ast.Name)}
    assert "CLAIMS" not in read
    assert {"_table", "registry"}.isdisjoint(read)


@pytest.mark.parametrize("name", NAMES)
def test_every_definition_says_where_it_is_from_and_what_was_simplified(name):
    facts = about(name)
    assert len(facts["source"]) > 30
    assert len(facts["simplified"]) > 30
    assert set(registry.constant(FOLDER, name, "CLAIMS")) <= set(specimens())


def test_what_retraining_satisfies_lets_the_median_leak(holds):
    """The heart of the survey: seven definitions accept a curator that ours rejects."""
    accepting = [d for d in NAMES if holds[d, "retrain-median"]]
    assert len(accepting) == 7
    assert not any(d.startswith("undeleted") for d in accepting)


def test_what_rejects_retraining_rejects_the_exact_sum_too(holds):
    for definition in ("garg-2020", "gao-2022", "chourasia-shah-2023", "dp-folklore"):
        assert not holds[definition, "retrain-median"]
        assert not holds[definition, "exact-sum"]
        assert not holds[definition, "bulletin-board"]


def test_one_step_at_a_time_misses_the_pads(holds):
    """Uniform one by one, yet two outputs give a person away: the definition holds, ours does not."""
    assert holds["chourasia-shah-2023", "xor-undeleted"]
    assert not holds["undeleted-non-adaptive", "xor-undeleted"]
    assert not holds["chourasia-shah-2023", "cumulative-xor-pad"]


def test_a_pad_on_those_who_stay_holds_one_step_at_a_time_for_two_deletions_and_not_for_three():
    """The third request may depend on z0 ⊕ z1, which is somebody's value: perfectly at two, not at three."""
    two, three = specimen("xor-undeleted"), specimen("xor-undeleted")
    three.n, three.k = 4, 3
    assert chourasia_shah_2023(two, Fraction(1)).distance == 0
    assert chourasia_shah_2023(three, Fraction(1)).distance > 0
    pad = specimen("xor-pad")
    pad.n, pad.k = 4, 3
    assert chourasia_shah_2023(pad, Fraction(1)).distance == 0


def test_subtracting_from_a_noisy_sum_fails_one_step_at_a_time_by_parity():
    """A requester deletes 0 or 1 by the parity of z0, and the later output has Alice's parity: certainty."""
    outputs = chourasia_shah_2023(specimen("noisy-sum")).witness["the output after Alice left"]
    assert all("0" in row["probabilities"] for row in outputs)


def test_the_batch_queries_of_the_toy_change_with_one_star():
    assert batch_queries(("*",) * 5 + (1,)) == (2, 0)
    assert batch_queries(("*",) * 4 + (1,)) == (1, 1)


@pytest.mark.parametrize("name", specimens())
def test_the_order_of_the_data_does_not_matter_to_a_specimen(name):
    chosen = specimen(name)
    if name == "retrain-bq":
        chosen.n, chosen.k = 4, 1  # all orders of six would take long
    found = verify(replace(chosen.world, order_known=False), time_limit=3000)
    assert found.order.endswith("checked on every order")


def test_one_cell_alone_is_the_cell_of_the_table(cells):
    alone = ask("gao-2022", specimen("frozen-median"))
    [same] = [c for c in cells if (c.definition, c.specimen) == ("gao-2022", "frozen-median")]
    assert alone.answer == same.answer


def test_the_page_is_whole_and_asks_nobody(cells):
    text = page(cells)
    assert "src=" not in text
    assert "://" not in text
    for cell in cells:
        assert f'id="{cell.definition}--{cell.specimen}"' in text
