"""/v1: who may do what, what is answered, and what a stranger learns from it.

Covers: interfaces/http/access.py, interfaces/http/lists.py, interfaces/http/models.py,
        interfaces/http/problems.py
"""

import asyncio
import io
import json
import re
import threading
import time

import pyarrow.parquet as pq
import pytest

from support.services import CITIES, SPEC, Published, client_of, running, table
from undeleted.curate.curator import Curator
from undeleted.curate.receipts import DataSet, Receipt
from undeleted.errors import Busy
from undeleted.interfaces.http.keys import Keys, keys_at

DOCUMENT = {  # every address, and whose it is
    ("GET", "/health/live"): None,
    ("GET", "/health/ready"): None,
    ("GET", "/v1/data-set"): None,
    ("POST", "/v1/deletions"): None,
    ("GET", "/metrics"): {"operator", "reader"},
    ("GET", "/v1/publications"): {"reader", "operator"},
    ("GET", "/v1/publications/{name}"): {"reader", "operator"},
    ("GET", "/v1/publications/{name}/export"): {"reader", "operator"},
    ("GET", "/v1/publications/{name}/sample"): {"reader", "operator"},
    ("POST", "/v1/publications/{name}/predictions"): {"reader", "operator"},
    ("POST", "/v1/publications"): {"operator"},
    ("POST", "/v1/receipts"): {"operator"},
    ("POST", "/v1/arrivals"): {"operator"},
    ("POST", "/v1/corrections"): {"operator"},
    ("POST", "/v1/ticks"): {"operator"},
    ("GET", "/v1/status"): {"operator"},
    ("GET", "/v1/check"): {"operator"},
    ("POST", "/v1/deletions/bulk"): {"operator"},
    ("GET", "/v1/deletions/bulk/{stream}"): {"operator"},
}
BODIES = {
    ("POST", "/v1/publications/{name}/predictions"): (
        {"Content-Type": "application/json"},
        b'{"rows": [{"age": 3}]}',
    ),
    ("POST", "/v1/deletions/bulk"): ({"Content-Type": "application/x-ndjson"}, b'{"id": "nobody"}\n'),
    ("POST", "/v1/publications"): ({"Content-Type": "application/json"}, json.dumps({"spec": SPEC}).encode()),
    ("POST", "/v1/receipts"): ({"Content-Type": "application/json"}, json.dumps({"spec": SPEC}).encode()),
    ("POST", "/v1/arrivals"): ({"Content-Type": "application/json"}, b'{"table": "a"}'),
    ("POST", "/v1/corrections"): ({"Content-Type": "application/json"}, b'{"table": "a"}'),
    ("POST", "/v1/deletions"): ({"Content-Type": "application/json"}, b'{"receipt": "x"}'),
}


def ask(client, method, path, headers):
    more, body = BODIES.get((method, path), ({}, b""))
    there = path.replace("{name}", "people").replace("{stream}", "none")
    return client.request(method, there, headers={**more, **headers}, content=body)


def test_the_document_names_every_address_and_this_table_too(client):
    told = client.get("/v1/openapi.json").json()
    assert told["openapi"].startswith("3.1")
    found = {(m.upper(), path) for path, methods in told["paths"].items() for m in methods}
    assert found == set(DOCUMENT)


@pytest.mark.parametrize("role", ["operator", "reader", "person", None])
def test_a_role_does_its_own_and_nothing_else(client, published, role):
    for (method, path), roles in DOCUMENT.items():
        answer = ask(client, method, path, published.header(role))
        if roles is None:
            wanted = role in (None, "person") or path != "/v1/deletions"
            refused = {403}
        else:
            wanted, refused = role in roles, {401} if role is None else {403}
        assert (answer.status_code not in {401, 403}) == wanted, (method, path, role, answer.status_code)
        if not wanted:
            assert answer.status_code in refused
            assert answer.headers["content-type"] == "application/problem+json"
            assert ("www-authenticate" in answer.headers) == (answer.status_code == 401)


@pytest.mark.parametrize(
    "header",
    ["Bearer", "Bearer ", "Bearer x", "Basic eDp4", "undeleted_reader_x", "Bearer " + "x" * 5000, "bearer é"],
)
def test_malformed_keys_are_refused_like_unknown_ones(client, header):
    for path in ("/v1/publications", "/v1/status", "/metrics"):
        answer = client.get(path, headers={"Authorization": header.encode()})
        assert answer.status_code == 401
        assert answer.json()["detail"] == "this key is not valid, or no longer."
    answer = client.post("/v1/deletions", json={"receipt": "x"}, headers={"Authorization": header.encode()})
    assert answer.status_code == 401


def test_a_revoked_key_is_refused_at_once(client, published):
    from undeleted.interfaces.http.keys import Keys, keys_at

    assert client.get("/v1/publications", headers=published.header("reader")).status_code == 200
    Keys(keys_at(published.store)).revoke("reader")
    assert client.get("/v1/publications", headers=published.header("reader")).status_code == 401


# -- people


def leave(client, receipt, **more):
    return client.post("/v1/deletions", json={"receipt": receipt}, **more)


def estimate(client, published, name="people"):
    [answer] = client.get(f"/v1/publications/{name}", headers=published.header("reader")).json()["answers"]
    return answer["estimate"], answer["version"]


def test_a_receipt_deletes_its_person_once_and_is_certified(client, published):
    before, first = estimate(client, published)
    answer = leave(client, published.receipt(17))
    assert answer.status_code == 200
    told = answer.json()
    data_set = DataSet.of(client.get("/v1/data-set").json()["key"])
    data_set.check_certificate(told["certificate"], Receipt.parse(published.receipt(17)))
    assert told["data_set"] == data_set.name
    assert estimate(client, published) == (before - 1, first + 1)
    assert leave(client, published.receipt(17)).json() == told, "a replay gets the same certificate"
    assert estimate(client, published) == (before - 1, first + 1)


def kinds(tmp_path, published, client):
    """Receipts that name nobody here: spent, foreign, forged, of an unknown id, of somebody gone before."""
    (tmp_path / "elsewhere").mkdir()
    foreign = Published(tmp_path / "elsewhere", people=20)
    head, body, _ = published.receipt(5).split(".")
    other = published.receipt(6).split(".")[2]
    issuer = client.app.state.service.issuer
    leave(client, published.receipt(1))
    client.post(
        "/v1/deletions/bulk",
        content=b'{"id": "p00002"}',
        headers={**published.header("operator"), "Content-Type": "application/x-ndjson"},
    )
    return {
        "spent": published.receipt(1),
        "deleted otherwise": published.receipt(2),
        "foreign": foreign.receipt(3),
        "forged": f"{head}.{body}.{other}",
        "unknown": issuer.receipt("nobody")[0].token,
    }


def test_answers_to_receipts_that_name_nobody_cannot_be_told_apart_by_what_they_say(
    tmp_path, published, client
):
    fresh = leave(client, published.receipt(9))
    before, version = estimate(client, published)
    strangers = kinds(tmp_path, published, client)
    before, version = estimate(client, published)

    def form(answer):
        told = answer.json()
        head, body, signature = told.pop("certificate").split(".")
        headers = {k: v for k, v in answer.headers.items() if k != "date"}
        return answer.status_code, headers, told, head, len(body), len(signature)

    false = [leave(client, strangers.pop(kind)) for kind in ("foreign", "forged")]
    forms = {kind: form(leave(client, receipt)) for kind, receipt in strangers.items()}
    assert all(found == form(fresh) for found in forms.values()), forms
    assert form(fresh)[2]["genuine"] is True
    assert [(answer.status_code, answer.json()["genuine"]) for answer in false] == [(422, False)] * 2
    assert false[0].text == false[1].text
    assert "certificate" not in false[0].text
    assert estimate(client, published) == (before, version), "and nothing has changed"
    assert published.whole()


def test_a_forged_receipt_deletes_nobody(published):
    head, body, _ = published.receipt(5).split(".")
    with client_of(published.store) as client:
        assert leave(client, f"{head}.{body}.{published.receipt(6).split('.')[2]}").status_code == 422
        assert leave(client, published.receipt(7)).status_code == 200
    assert [published.is_there(number) for number in (5, 6, 7)] == [True, True, False]


def test_a_service_whose_records_become_receipts_meanwhile_acknowledges_nothing_into_the_void(published):
    """By another process: earlier receipts are void, new ones are good, a used one is answered alike."""
    with client_of(published.store) as client:
        assert leave(client, published.receipt(5)).status_code == 200
        lines = []
        with Curator.open(published.store) as other:
            people = [line["person"] for line in published.lines]
            other.forget_records(people, 1000, receipts=lines.append)
        new = {line["person"]: line["receipt"] for line in map(json.loads, lines)}
        before = estimate(client, published)
        for _ in range(2):
            assert leave(client, published.receipt(7)).status_code == 422
        assert estimate(client, published) == before
        told = [leave(client, new[published.lines[7]["person"]]) for _ in range(2)]
        assert [answer.status_code for answer in told] == [200, 200]
        assert told[0].json().keys() == told[1].json().keys()
        assert estimate(client, published) == (before[0] - 1, before[1] + 1)
        void = leave(client, published.receipt(8))
        assert (void.status_code, void.json()["genuine"]) == (422, True)
    assert published.whole()


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", "application/json", 400),
        (b"{", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b"[]", "application/json", 422),
        (b"{}", "application/json", 422),
        (b'{"receipt": 5}', "application/json", 422),
        (b'{"receipt": null}', "application/json", 422),
        (b'{"receipt": ""}', "application/json", 422),
        (b'{"receipt": "x.y.z"}', "application/json", 422),
        (b'{"receipt": "x", "id": "p1"}', "application/json", 422),
        (b'{"receipt": "' + b"x" * 3000 + b'"}', "application/json", 422),
        (b'{"receipt": "' + b"x" * 70_000 + b'"}', "application/json", 413),
        (b'{"receipt": "x"}', "text/plain", 415),
        (b'{"receipt": "x"}', None, 415),
    ],
)
def test_bad_bodies_are_problems_with_a_remedy(client, body, kind, status):
    answer = client.post("/v1/deletions", content=body, headers={"Content-Type": kind} if kind else {})
    told = answer.json()
    assert answer.status_code == told["status"] == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert told["detail"]
    assert told["remedy"]
    assert "xxx" not in answer.text, "what was sent is not told back"
    assert "Traceback" not in answer.text


def test_the_quick_way_answers_as_the_documented_one(published):
    """The same requests, one through FastAPI's route, one over a socket, which the protocol answers."""
    import httpx2 as httpx

    def answers(client):
        found = []
        head, body, _ = published.receipt(5).split(".")
        forged = f"{head}.{body}.{published.receipt(6).split('.')[2]}"
        kind = {"Content-Type": "application/json"}
        for content, headers in (
            (b'{"receipt": "x.y.z"}', kind),
            (b"{", kind),
            (b"", kind),
            (b"\xff\xfe", kind),
            (b'{"receipt": 5}', kind),
            (b'{"receipt": "' + b"x" * 70_000 + b'"}', kind),
            (iter([b'{"receipt": "', b"x" * 50_000, b"x" * 50_000]), kind),
            (b'{"receipt": "x"}', {"Content-Type": "text/plain"}),
            (b'{"receipt": "x"}', kind | published.header("reader")),
            (b'{"receipt": "x"}', kind | {"Authorization": "Bearer x"}),
            (json.dumps({"receipt": forged}).encode(), kind),
            (json.dumps({"receipt": published.receipt(0)}).encode(), kind),
        ):
            answer = client.post("/v1/deletions", content=content, headers=headers)
            ours = {k: v for k, v in answer.headers.items() if k not in ("date", "connection")}
            found.append((answer.status_code, answer.json(), ours))
        found.append(client.get("/health/live").json())
        return found

    with client_of(published.store) as client:
        documented = answers(client)
    with (
        running("--store", published.store, "--log-level", "error") as service,
        httpx.Client(base_url=service.told["address"]) as client,
    ):
        assert answers(client) == documented


@pytest.mark.parametrize("claim", ["sub", "aud"])
def test_a_receipt_that_says_what_cannot_be_harms_nobody_else(client, published, claim):
    """A lone surrogate has the form of a string, and no bytes."""
    from undeleted.curate.receipts import _decoded, _encoded

    head, body, signature = published.receipt(1).split(".")
    claims = json.loads(_decoded(body)) | {claim: "\ud800"}
    strange = f"{head}.{_encoded(json.dumps(claims).encode())}.{signature}"
    assert leave(client, strange).status_code == 422


def test_a_check_that_fails_fails_alone(client, published, monkeypatch):
    """The first check waits until eleven others are queued, so that the bad one shares a batch with them."""
    from concurrent.futures import ThreadPoolExecutor

    issuer, checks = client.app.state.service.issuer, client.app.state.service._checks
    whole = type(issuer).certificate
    bad, started = published.receipt(1), threading.Event()

    def certificate(self, receipt):
        if not started.is_set():
            started.set()
            while checks.waiting < 11:
                time.sleep(0.001)
        if receipt.token == bad:
            raise RuntimeError
        return whole(self, receipt)

    monkeypatch.setattr(type(issuer), "certificate", certificate)
    with ThreadPoolExecutor(12) as pool:
        first = pool.submit(leave, client, published.receipt(0))
        assert started.wait(60)
        others = [pool.submit(leave, client, published.receipt(n)) for n in range(1, 12)]
        bad_answer, *answers = [each.result().status_code for each in others]
    assert bad_answer == 500
    assert {first.result().status_code, *answers} == {200}


def test_a_portal_takes_receipts_with_a_key_only(published):
    with client_of(published.store, portal=True) as client:
        assert leave(client, published.receipt(3)).status_code == 401
        assert leave(client, published.receipt(3), headers=published.header("person")).status_code == 200
        assert client.post("/leave/confirm", data={"receipt": published.receipt(4)}).status_code == 403
    assert not published.is_there(3)
    assert published.is_there(4)


def test_whoever_hangs_up_on_receipts_leaves_no_table_behind(published):
    """The next one's turn comes when the table of the last is gone."""
    from undeleted.interfaces.http.uploads import Uploads

    uploads = Uploads(published.store)

    async def hang_up():
        lines = uploads.receipts(SPEC, table(5))
        await anext(lines)
        assert uploads._folder.exists()
        with pytest.raises(Busy):
            await anext(uploads.receipts(SPEC, table(5)))
        await lines.aclose()
        assert not uploads._folder.exists()
        return [part async for part in uploads.receipts(SPEC, table(5))]

    [written] = asyncio.run(hang_up())
    assert len(written.splitlines()) == 5


# -- readers

DATES = """[data]
source = "people.csv"
id = "person"
[budget]
epsilon = 8.0
[columns.age]
type = "number"
min = 0
max = 99
[columns.city]
type = "category"
values = ["Chicago", "Haifa", "Washington"]
[columns.born]
type = "date"
min = 1930-01-01
max = 2025-12-31
[publish.births]
kind = "mean"
column = "born"
by = ["city"]
[publish.spread]
kind = "quantiles"
column = "born"
[publish.model]
kind = "naive-bayes"
features = ["age"]
target = "city"
"""


@pytest.fixture
def dated(tmp_path):
    rows = "".join(f"p{i},{i % 100},{CITIES[i % 3]},19{40 + i % 50}-03-14\n" for i in range(900))
    (tmp_path / "people.csv").write_text("person,age,city,born\n" + rows)
    (tmp_path / "spec.toml").write_text(DATES)
    Curator.from_spec(tmp_path / "spec.toml", tmp_path / "people.db").close()
    key = {"Authorization": f"Bearer {Keys(keys_at(str(tmp_path / 'people.db'))).create('r', 'operator')}"}
    with client_of(str(tmp_path / "people.db")) as client:
        yield client, key


def test_dates_are_dates_in_every_answer_and_on_the_page(dated):
    client, key = dated
    for name in ("births", "spread"):
        answers = client.get(f"/v1/publications/{name}", headers=key).json()["answers"]
        assert all(re.fullmatch(r"19[0-9]{2}-\d\d-\d\d", a["estimate"]) for a in answers)
    assert client.get("/v1/publications", headers=key).status_code == 200
    token = key["Authorization"].removeprefix("Bearer ")
    client.post("/login", data={"key": token})
    page = client.get("/").text
    assert re.search(r"<td>19\d\d-\d\d-\d\d</td><td>19\d\d-\d\d-\d\d to 19\d\d-\d\d-\d\d</td>", page)
    assert 'class="posts"' not in page


def test_readers_get_files_and_predictions(dated):
    client, key = dated
    table = client.get("/v1/publications/births/export?format=csv", headers=key)
    assert table.headers["content-type"].startswith("text/csv")
    assert table.text.splitlines()[0] == "publication,city,estimate,low,high,confidence,version"
    assert len(table.text.splitlines()) == 4
    parquet = client.get("/v1/publications/births/export?format=parquet", headers=key).content
    assert pq.read_table(io.BytesIO(parquet)).num_rows == 3
    wrong = client.get("/v1/publications/births/export?where=city=Haifa", headers=key)
    assert (wrong.status_code, "unknown parameter 'where'" in wrong.text) == (422, True)

    def predicted(name, body, status=200):
        answer = client.post(f"/v1/publications/{name}/predictions", headers=key, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    [one, other] = predicted("model", {"rows": [{"age": 3}, {"age": 4}]})["predictions"]
    assert {one["prediction"], other["prediction"]} <= set(CITIES)
    assert 0 <= one["probability"] <= 1
    assert "only models predict" in predicted("births", {"rows": [{"age": 3}]}, 422)["detail"]
    predicted("nobody", {"rows": [{"age": 3}]}, 404)
    predicted("model", {"rows": []}, 422)
    predicted("model", {"rows": [{"age": "old"}]}, 422)
    predicted("model", {"rows": [{"height": 3}]}, 422)


def test_readers_ask_questions(client, published):
    def asked(question, status=200):
        answer = client.get(f"/v1/publications/{question}", headers=published.header("reader"))
        assert answer.status_code == status, answer.text
        return answer.json()

    whole = client.get("/v1/publications", headers=published.header("reader")).json()
    assert [p["name"] for p in whole["publications"]] == ["people", "mean age", "ages", "cities"]
    assert whole["left"] == 0
    [answer] = asked("ages?quantile=0.9")["answers"]
    assert answer["low"] <= answer["estimate"] <= answer["high"]
    assert asked("ages?low=10&high=20")["answers"][0]["of"] == "10 to 20"
    assert asked("cities?where=city=Haifa&confidence=0.5")["answers"][0]["confidence"] == 0.5
    assert "Did you mean 'people'" in asked("peple", 404)["remedy"]
    assert asked("ages?low=10", 422)["detail"] == "only one end of the range was given."
    assert "histogram" in asked("ages?where=city=Haifa", 422)["detail"]
    assert "unknown parameter 'quantil'" in asked("ages?quantil=0.5", 422)["detail"]
    asked("ages?quantile=7", 422)
    asked("ages?quantile=nan", 422)
    asked("ages?confidence=1", 422)


def test_what_was_published_before_is_kept_nowhere(published):
    with client_of(published.store, erase_within=3600) as client:  # nobody tidies up meanwhile
        service = client.app.state.service
        client.get("/v1/publications", headers=published.header("reader"))
        assert {version for version, _ in service._answers.values()} == {1}
        leave(client, published.receipt(1))
        assert service._answers == {}


def test_answers_follow_deletions_of_other_processes_too(client, published):
    from undeleted.interfaces.cli import run

    before, version = estimate(client, published)
    assert run(["delete", "p00030", "--store", published.store]) == 0
    assert estimate(client, published) == (before - 1, version + 1)


# -- operators


def bulk(client, published, lines, question=""):
    headers = {**published.header("operator"), "Content-Type": "application/x-ndjson"}
    body = b"".join(lines) if isinstance(lines, list) else lines
    return client.post(f"/v1/deletions/bulk{question}", content=body, headers=headers)


def test_a_list_is_deleted_and_said_line_by_line(client, published):
    ids = [json.dumps({"id": f"p{i:05d}"}).encode() + b"\n" for i in range(100)]
    answer = bulk(client, published, [*ids, b"\n", b'{"id": "nobody"}\n', ids[3]], "?stream=monday")
    last = json.loads(answer.text.splitlines()[-1])
    assert (last["deleted"], last["unknown"], last["done"]) == (100, 2, True)
    progress = client.get("/v1/deletions/bulk/monday", headers=published.header("operator")).json()
    assert (progress["lines"], progress["deleted"]) == (103, 100)
    assert client.get("/v1/deletions/bulk/other", headers=published.header("operator")).status_code == 404
    assert client.get("/v1/check", headers=published.header("operator")).json() == {
        "intact": True,
        "problems": [],
        "rule": 2,
        "unchecked": [],
    }


def test_a_list_goes_on_where_it_was_and_never_skips(client, published):
    ids = [json.dumps({"id": f"p{i:05d}"}).encode() + b"\n" for i in range(20)]
    bulk(client, published, ids[:10], "?stream=a")
    assert bulk(client, published, ids[11:], "?stream=a&from=11").status_code == 422
    assert bulk(client, published, ids[8:], "?stream=a&from=8").status_code == 200
    told = client.get("/v1/deletions/bulk/a", headers=published.header("operator")).json()
    assert (told["lines"], told["deleted"]) == (20, 20)
    again = json.loads(bulk(client, published, ids, "?stream=a").text.splitlines()[-1])
    assert (again["lines"], again["deleted"], again["unknown"]) == (20, 0, 20), "sent anew, counted anew"


@pytest.mark.parametrize(
    "line", [b"p1", b'{"id": 5}', b'{"id": "p1", "x": 1}', b"[]", b'{"id": "' + b"x" * 5000]
)
def test_a_wrong_line_is_named_by_its_number_and_nothing_of_it(client, published, line):
    answer = bulk(client, published, [b'{"id": "p00001"}\n', line])
    assert answer.status_code == 422
    assert "line 2 " in answer.json()["detail"]
    assert "xxx" not in answer.text


def test_a_wrong_line_after_some_hundred_is_told_in_the_answer(client, published):
    ids = [json.dumps({"id": f"p{i:05d}"}).encode() + b"\n" for i in range(300)] * 2
    last = json.loads(bulk(client, published, [*ids, b"oops\n"], "?stream=b").text.splitlines()[-1])
    assert last["problem"]["status"] == 422
    assert "line 601 " in last["problem"]["detail"]
    assert last["lines"] == 500
    assert last["done"] is False


def test_the_kind_of_a_list_matters(client, published):
    answer = client.post(
        "/v1/deletions/bulk",
        content=b"{}",
        headers={**published.header("operator"), "Content-Type": "text/csv"},
    )
    assert answer.status_code == 415


def test_operators_see_what_it_cost(client, published):
    told = client.get("/v1/status", headers=published.header("operator")).json()
    assert told["publications"] == ["people", "mean age", "ages", "cities"]
    assert told["erased_within_seconds"] == 1.0
    assert "held" not in told, "how many people are held back is not told"


def test_an_operator_publishes_and_people_leave_with_what_it_got(tmp_path):
    from undeleted.interfaces.http.keys import Keys, keys_at

    store = str(tmp_path / "new.db")
    key = {"Authorization": f"Bearer {Keys(keys_at(store)).create('op', 'operator')}"}
    with client_of(store, new=True) as client:
        assert client.get("/health/ready").json()["status"] == "waiting for a publication"
        assert client.get("/v1/data-set").status_code == 409
        assert leave(client, "x").status_code == 409
        sent = {"spec": SPEC, "table": table(40)}
        answer = client.post("/v1/publications", json=sent, headers=key)
        assert answer.status_code == 200, answer.text
        answer = client.post("/v1/receipts", json=sent | {"table": table(50)}, headers=key)
        lines = [json.loads(line) for line in answer.text.splitlines()]
        assert [line["person"] for line in lines] == [f"p{i:05d}" for i in range(40)]
        assert leave(client, lines[4]["receipt"]).status_code == 200
        again = client.post("/v1/publications", json={"spec": SPEC}, headers=key).json()
        assert again["version"] == 2
        for path in ("/v1/publications", "/v1/receipts"):
            assert client.post(path, json={"spec": SPEC + "# x"}, headers=key).status_code == 409
        assert client.get("/health/ready").json()["status"] == "ready"
    assert sorted(p.name for p in tmp_path.iterdir() if "lock" not in p.name) == [
        "new.db",
        "new.db.key",
        "new.db.keys",
    ], "the table is gone"


@pytest.mark.parametrize(
    ("spec", "csv", "words"),
    [
        ("nonsense", "", "is not TOML"),
        (SPEC.replace("people.csv", "/etc/passwd"), "a,b\n", "not a CSV file that can be sent"),
        (SPEC.replace("people.csv", "../people.csv"), "a,b\n", "not a CSV file that can be sent"),
        (
            SPEC.replace('source = "people.csv"', 'connection = "duckdb://x"\ntable = "t"'),
            "a",
            "not a CSV file",
        ),
        (SPEC, "person,age,city\np1,500,Haifa\n", "values must lie in"),
        (SPEC, "a,b\n1,2\n", "not in people.csv"),
        (SPEC, "", ""),
        (SPEC.replace("people.csv", "a" * 300 + ".csv"), "a,b\n1,2\n", "not in aaa"),
        (SPEC.replace("people.csv", "a\\u0000b.csv"), "a,b\n1,2\n", "not in a"),
        (
            SPEC.replace("epsilon = 4.0", "epsilon = 4.0\ndelta = 0.5"),
            "person,age,city\n",
            "does not protect",
        ),
    ],
)
def test_what_cannot_be_published_is_told_in_the_words_of_the_command_line(tmp_path, spec, csv, words):
    from undeleted.interfaces.http.keys import Keys, keys_at

    store = str(tmp_path / "new.db")
    key = {"Authorization": f"Bearer {Keys(keys_at(store)).create('op', 'operator')}"}
    with client_of(store, new=True) as client:
        answer = client.post("/v1/publications", json={"spec": spec, "table": csv}, headers=key)
    assert answer.status_code == 422, answer.text
    assert words in answer.text
    assert str(tmp_path) not in answer.text
    assert "undeleted-" not in answer.json()["detail"]
    assert not (tmp_path / "new.db").exists()


# -- those who look after the machine


def test_metrics_and_logs_carry_no_value_no_id_no_count(client, published, capfd):
    from undeleted.interfaces.http.guard import log_to_stderr

    log_to_stderr("info")
    for number in range(30):
        leave(client, published.receipt(number))
    bulk(client, published, b'{"id": "p00031"}')
    client.get("/v1/publications/nobody-here?where=city=Haifa", headers=published.header("reader"))
    client.get("/some/strange/p00033")
    said = client.get("/metrics", headers=published.header("reader")).text
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert len(lines) >= 33
    assert {line["route"] for line in lines} <= {
        "/v1/deletions",
        "/v1/deletions/bulk",
        "/v1/publications/{name}",
        "none",
        "/metrics",
    }
    everything = said + json.dumps(lines)
    assert not re.search(r"p000\d\d|nobody-here|Haifa|strange", everything)
    assert set(re.findall(r"# TYPE (\w+) ", said)) == {
        "undeleted_requests_total",
        "undeleted_request_seconds",
        "undeleted_batches_total",
        "undeleted_waiting",
        "undeleted_erasure_late_seconds",
    }, "requests are counted, and not people"
    assert 'undeleted_requests_total{method="POST",route="/v1/deletions",status="200"} 30.0' in said
