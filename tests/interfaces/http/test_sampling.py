"""`GET /v1/publications/NAME/sample`: rows over HTTP, one fit at a time; a small model stands in."""

import io
import threading

import numpy as np
import pyarrow.parquet as pq
import pytest

from support.services import client_of
from undeleted.curate.curator import Curator
from undeleted.curate.synthetic.fitting import FittedModel
from undeleted.errors import FitFailed
from undeleted.interfaces.http.keys import Keys, keys_at

SPEC = """
[data]
source = "people.csv"
id = "person"
[columns.age]
type = "number"
min = 0
max = 99
[columns.sex]
type = "category"
values = ["f", "m"]
[budget]
epsilon = 4.0
[publish.rows]
kind = "synthetic"
columns = ["age", "sex"]
edges = {age = [50]}
[publish.people]
kind = "count"
"""


@pytest.fixture
def served(tmp_path, monkeypatch):
    even = FittedModel("mixture", {"products": np.full((2, 4), 0.5)}, {}, 100.0)
    monkeypatch.setattr("undeleted.curate.synthetic.rows.fitted", lambda *_, **__: even)
    (tmp_path / "people.csv").write_text("person,age,sex\n" + "".join(f"p{i},{i},f\n" for i in range(100)))
    (tmp_path / "spec.toml").write_text(SPEC)
    Curator.from_spec(tmp_path / "spec.toml", tmp_path / "people.db").close()
    key = {"Authorization": f"Bearer {Keys(keys_at(str(tmp_path / 'people.db'))).create('r', 'reader')}"}
    with client_of(str(tmp_path / "people.db")) as client:
        yield client, key


def test_readers_draw_rows_in_every_form(served):
    client, key = served
    drawn = client.get("/v1/publications/rows/sample?rows=40&seed=3", headers=key)
    assert drawn.status_code == 200
    assert drawn.headers["content-type"].startswith("text/csv")
    assert drawn.text.splitlines()[0] == '"age","sex"'
    assert len(drawn.text.splitlines()) == 41
    assert client.get("/v1/publications/rows/sample?rows=40&seed=3", headers=key).text == drawn.text
    assert client.get("/v1/publications/rows/sample?rows=40&seed=4", headers=key).text != drawn.text
    rows = client.get("/v1/publications/rows/sample?rows=5&format=json", headers=key).json()
    assert set(rows[0]) == {"age", "sex"}
    parquet = client.get("/v1/publications/rows/sample?rows=7&format=parquet", headers=key).content
    assert pq.read_table(io.BytesIO(parquet)).num_rows == 7


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("people/sample", 422, "of kind synthetic"),
        ("nobody/sample", 404, "nobody"),
        ("rows/sample?rows=0", 422, "rows"),
        ("rows/sample?rows=1000000", 422, "rows"),
        ("rows/sample?seed=-1", 422, "seed"),
        ("rows/sample?model=bayes", 422, "model"),
        ("rows/sample?row=5", 422, "unknown parameter 'row'"),
    ],
)
def test_what_cannot_be_drawn(served, address, status, said):
    client, key = served
    answer = client.get(f"/v1/publications/{address}", headers=key)
    assert (answer.status_code, said in answer.text) == (status, True), answer.text


def test_a_fit_that_fails_is_503_and_the_next_may_succeed(served, monkeypatch):
    client, key = served
    with monkeypatch.context() as failing:

        def late(*_, **__):
            raise FitFailed(120.0, "")

        failing.setattr("undeleted.curate.synthetic.rows.fitted", late)
        answer = client.get("/v1/publications/rows/sample", headers=key)
        assert answer.status_code == 503
        assert "was not ready" in answer.text
    assert client.get("/v1/publications/rows/sample?rows=2", headers=key).status_code == 200


def test_one_fit_at_a_time_and_others_are_served_meanwhile(served, monkeypatch):
    """A request that gives up does not make room for another fit: it goes on, and is kept."""
    client, key = served
    go, begun = threading.Event(), threading.Event()
    fits = []

    def slow(*_, **__):
        fits.append(1)
        begun.set()
        go.wait(60)
        return FittedModel("mixture", {"products": np.full((2, 4), 0.5)}, {}, 100.0)

    monkeypatch.setattr("undeleted.curate.synthetic.rows.fitted", slow)
    first: list[int] = []
    address = "/v1/publications/rows/sample?rows=2"
    asking = threading.Thread(target=lambda: first.append(client.get(address, headers=key).status_code))
    asking.start()
    begun.wait(60)
    for _ in range(5):
        answer = client.get(address, headers=key)
        assert (answer.status_code, "a model is being fitted" in answer.text) == (503, True)
        assert client.get("/v1/publications/people", headers=key).status_code == 200
    go.set()
    asking.join()
    assert (first, len(fits)) == ([200], 1)
