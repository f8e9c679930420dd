"""The page without a browser: who sees what, forms without scripts, and what strangers may not do.

Covers: interfaces/http/audits.py, interfaces/http/charts.py
"""

import json
import re

import pytest

from support.services import SPEC, Published, client_of
from undeleted.curate.mechanisms import noisy_histogram
from undeleted.curate.stores import Fold
from undeleted.errors import UndeletedError
from undeleted.games.attacks import kmeans_line, median_walk
from undeleted.interfaces.http import lab, pages
from undeleted.interfaces.http.keys import Keys, keys_at
from undeleted.interfaces.report.questions import width_note

PAGES = ("/", "/lab", "/audits")


def log_in(client, published, role="reader", **more):
    return client.post("/login", data={"key": published.keys[role], **more}, follow_redirects=False)


def test_pages_of_readers_ask_for_a_readers_key(client, published):
    for path in PAGES:
        answer = client.get(path, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/login")
    assert client.get("/live", headers={"HX-Request": "true"}).status_code == 401
    assert client.get("/leave").status_code == 200, "everybody may leave"
    refused = log_in(client, published, "person")
    assert (refused.status_code, "for leaving" in refused.text) == (401, True)
    assert log_in(client, published, "operator").status_code == 303
    for path in PAGES:
        assert client.get(path).status_code == 200, "operators look too"
    client.cookies.clear()
    assert client.post("/login", data={"key": "x"}).status_code == 401
    answer = log_in(client, published, next="/lab")
    assert (answer.status_code, answer.headers["location"]) == (303, "/lab")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert published.keys["reader"] not in cookie
    for path in PAGES:
        assert client.get(path).status_code == 200


@pytest.mark.parametrize(
    "place", ["https://evil.example", "//evil.example", "/\\evil", "javascript:alert(1)"]
)
def test_a_login_leads_nowhere_else(client, published, place):
    assert log_in(client, published, next=place).headers["location"] == "/"


def test_sessions_end_with_their_key_and_by_logging_out(client, published):
    log_in(client, published)
    assert client.get("/", follow_redirects=False).status_code == 200
    client.post("/logout")
    assert client.get("/", follow_redirects=False).status_code == 303
    log_in(client, published)
    Keys(keys_at(published.store)).revoke("reader")
    assert client.get("/", follow_redirects=False).status_code == 303


def test_a_session_is_no_key_for_the_api(client, published):
    log_in(client, published)
    assert client.get("/v1/publications").status_code == 401


@pytest.mark.parametrize("path", ["/leave", "/leave/confirm", "/login", "/logout"])
def test_a_form_of_another_site_is_refused(client, published, path):
    data = {"receipt": published.receipt(1), "key": published.keys["reader"]}
    answer = client.post(path, data=data, headers={"Sec-Fetch-Site": "cross-site"}, follow_redirects=False)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_leaving_without_scripts(published):
    with client_of(published.store) as client:
        text = json.dumps(published.lines[8])  # the whole line, as it was handed out
        page = client.post("/leave", data={"receipt": text}).text
        assert "This receipt is genuine" in page
        assert "What it cannot hide" in page
        told = client.app.state.service.store.version
        token = re.search(r'name="receipt" value="([^"]+)"', page)[1]
        page = client.post("/leave/confirm", data={"receipt": token}).text
        assert "holds no record" in page
        assert client.app.state.service.store.version == told + 1
    assert not published.is_there(8)


def test_looking_at_a_receipt_deletes_nobody_and_tells_nothing_of_whether_they_are_here(published):
    with client_of(published.store) as client:
        before = client.post("/leave", data={"receipt": published.receipt(8)}).text
        client.post("/leave/confirm", data={"receipt": published.receipt(8)})
        assert client.post("/leave", data={"receipt": published.receipt(8)}).text == before
        client.post("/leave", data={"receipt": published.receipt(9)})
    assert published.is_there(9)


@pytest.mark.parametrize(
    "text", ["", "nonsense", "{}", '{"receipt": 5}', "{", "a.b.c", "<script>alert(1)</script>"]
)
def test_what_is_no_receipt_is_told_on_the_page(client, text):
    for headers in ({}, {"HX-Request": "true"}):
        page = client.post("/leave", data={"receipt": text}, headers=headers)
        assert "his is not a receipt" in page.text
        assert page.status_code == (200 if headers else 422)
        assert "<script>alert" not in page.text


@pytest.mark.parametrize("form", ['"{}"', "> {}", "{}\n", " {} ", "“{}”"])
def test_a_receipt_is_taken_as_people_paste_it(client, published, form):
    token = published.receipt(3)
    broken = "\n> ".join(token[i : i + 70] for i in range(0, len(token), 70)) if form == "> {}" else token
    assert "This receipt is genuine" in client.post("/leave", data={"receipt": form.format(broken)}).text


def test_what_folding_promises_is_said_with_its_time(published):
    from undeleted.curate.stores import Fold

    with client_of(published.store, fold=Fold(3, 7200.0)) as client:
        page = client.post("/leave", data={"receipt": published.receipt(3)}).text
    assert "when 3 people have left, or 2 hours after the first of them" in page
    assert "that is your contribution alone" in page


def test_an_altered_receipt_is_not_let_through_to_the_end(client, published):
    head, body, _ = published.receipt(3).split(".")
    page = client.post("/leave", data={"receipt": f"{head}.{body}.{published.receipt(4).split('.')[2]}"})
    assert page.status_code == 422
    assert "does not belong to this data set, or was altered" in page.text
    assert "Delete my record" not in page.text


def test_a_page_before_anything_is_published(tmp_path):
    with client_of(str(tmp_path / "none.db"), new=True, public=True) as client:
        assert "Nothing is published yet" in client.get("/").text
        assert client.get("/live", headers={"HX-Request": "true"}).status_code == 200
        assert client.post("/leave", data={"receipt": "x"}).status_code == 422


def test_the_dashboard_changes_when_something_has(client, published):
    log_in(client, published)
    page = client.get("/").text
    for word in ("people", "mean age", "Error by version", "all erased", "Budget"):
        assert word in page
    version = client.app.state.service.store.version
    assert client.get(f"/live?version={version}").status_code == 204
    client.post("/v1/deletions", json={"receipt": published.receipt(1)})
    assert f"v{version + 1}" in client.get(f"/live?version={version}").text


def test_names_are_text_and_never_markup(tmp_path):
    from support import services

    spec = services.SPEC.replace("[publish.people]", '[publish."<img src=x onerror=alert(1)>\'"]')
    published = services.Published(tmp_path, people=20, spec=spec)
    with client_of(published.store, public=True) as client:
        page = client.get("/").text
    assert "<img src=x" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page


# -- lab


@pytest.mark.parametrize("deleted", [0, 1, 7, 40])
def test_the_median_of_the_lab_is_the_attack_itself(deleted):
    for curator in ("retrain-median", "noisy-histogram", "frozen-median"):
        panel = lab.median(curator, deleted, 7)
        told = median_walk.run(n=lab.PEOPLE, controlled=deleted, against=curator, seed=7)
        found = re.match(r"(\d+) p(?:erson|eople)", panel.says)
        assert int(found[1] if found else 0) == told["exposed"]
        assert ("wrong claims", str(told["wrong"])) in panel.facts
        assert f"--controlled {deleted} --against {curator} --seed 7" in panel.command
    assert lab.median("retrain-median", deleted, 7).leaks == (deleted > 0)


def test_the_means_of_the_lab_are_the_attack_itself():
    for curator in ("lloyd", "release-once"):
        panel = lab.means(curator, lab.GAMES["means"].own, 7)
        told = kmeans_line.run(n=lab.MANY, alpha=lab.SHARE, against=curator, seed=7)
        found = re.match(r"(\d+) people", panel.says)
        assert int(found[1] if found else 0) == told["recovered_points"]
    assert lab.means("lloyd", lab.GAMES["means"].own, 7).leaks
    assert not lab.means("release-once", lab.GAMES["means"].own, 7).leaks


def test_the_picture_of_the_lab_is_the_attack_itself(tmp_path):
    from undeleted.games.attacks import batch_queries

    sizes = {"n": lab.PIXELS, "k": lab.KNOWN, "t": lab.BLOCK, "epsilon": 4.0, "seed": 7}
    for curator in ("retrain", "release-once"):
        pixels, sure = lab._pictured(curator, lab.STARS, 7)
        assert pixels.shape == (136, 136)
        if curator == "retrain":
            told = batch_queries.run(**sizes, against=curator, picture=str(tmp_path / "hidden.png"))
            assert sure == told["recovered"]
            assert sure > 0.85
        else:
            assert sure < 0.55
    shares = [lab._pictured("retrain", deleted, 7)[1] for deleted in (0, 300, 762)]
    assert shares == sorted(shares)


def test_the_lab_page_plays_and_refuses(published):
    with client_of(published.store, public=True) as client:
        page = client.get("/lab?game=median&deleted=10").text
        assert "5 people who stay are exposed" in page
        assert "Nobody who stays is exposed" in page
        part = client.get("/lab?game=median&deleted=10", headers={"HX-Target": "run"}).text
        assert "<html" not in part
        assert "5 people who stay are exposed" in part
        assert "10 of 40" in client.get("/lab?deleted=10").text
        assert client.get("/lab?game=chess").status_code == 404
        assert client.get("/lab?left=noisy-histogram").status_code == 404
        assert client.get("/lab?seed=99999").status_code == 422
        assert client.get("/lab?deleted=x").status_code == 422


def test_the_lab_has_limits():
    with pytest.raises(UndeletedError):
        lab.play("median", "retrain-median", "noisy-histogram", 41, 7)
    with pytest.raises(UndeletedError):
        lab.play("picture", "retrain", "release-once", -1, 7)


# -- audits


def test_audits_are_listed_and_real_values_stay_where_they_are(published, tmp_path):
    from undeleted.interfaces.cli import run

    folder = tmp_path / "audits"
    assert run(["audit", "retrain:statistics:median", "--budget", "10s", "--out", str(folder)]) == 1
    told = json.loads((folder / "retrain-statistics-median.verdict.json").read_text())
    told |= {"holds_real_values": True, "target": "secret-one", "argument": "the value 41"}
    (folder / "real.verdict.json").write_text(json.dumps(told))
    (folder / "nonsense.verdict.json").write_text("{")
    (folder / "other.verdict.json").write_text("[]")
    with client_of(published.store, public=True, audits=folder) as client:
        page = client.get("/audits").text
        assert "retrain:statistics:median" in page
        assert "broken" in page
        assert "undeleted replay" in client.get("/audits/retrain-statistics-median").text
        private = client.get("/audits/real").text
        assert "stay in the operator" in private
        assert "41" not in private
        assert client.get("/audits/nothing").status_code == 404
        assert client.get("/audits/..%2f..%2fpeople").status_code == 404
        assert client.get("/audits/nonsense").status_code == 404
    with client_of(published.store, public=True) as client:
        assert "No folder of audits" in client.get("/audits").text


def test_folders_of_the_machine_are_on_no_page(published, tmp_path):
    folder = tmp_path / "audit"
    folder.mkdir()
    place = f"{tmp_path}/deep/forest.py"
    verdict = {
        "target": f"python:{place}:Forest",
        "undeleted": "broken",
        "forgets": "no",
        "forgets_why": f"see '{tmp_path}/our things/x.json'",
        "holds_real_values": False,
        "delta_at_least": 0.5,
        "argument": f"{place} said so",
        "replay": f"undeleted replay {tmp_path}/audit/forest.witness.json",
        "assumptions": [f"that {place} is the one"],
        "seconds": 1.0,
        "calls": 3,
        "attacks": [{"attack": "subtract", "result": f"found in {place}"}],
    }
    (folder / "forest.verdict.json").write_text(json.dumps(verdict))
    with client_of(published.store, public=True, audits=folder) as client:
        shown = client.get("/audits").text + client.get("/audits/forest").text
    assert "…/forest.py:Forest" in shown
    assert str(tmp_path) not in shown
    assert tmp_path.parts[1] + "/" not in shown
    assert "our things" not in shown


def test_readers_do_not_see_whether_deletions_are_held_back(tmp_path):
    """With --fold that would tell whoever presents a receipt whether it was fresh."""
    published = Published(tmp_path)
    with client_of(published.store, public=True, fold=Fold(people=5, after=3600)) as client:
        before = client.get("/").text
        assert client.post("/v1/deletions", json={"receipt": published.receipt(3)}).status_code == 200
        held = client.get("/v1/status", headers=published.header("operator")).json()["held_back"]
        assert held is True, "operators see it"
        after = client.get("/").text
        assert _words(after) == _words(before)
        for page in (before, after):
            assert "held back" not in page
            assert "Publications are updated when enough people have left together" in page


def _words(page):
    """What a reader reads of the dashboard; whether something is being erased, strangers cause as well."""
    page = re.sub(r"<h2>Deletions</h2>.*?</div>", "", page, flags=re.S)
    return re.sub(r"<script.*?</script>|<[^>]+>", " ", page, flags=re.S).split()


@pytest.mark.parametrize(("kind", "widens"), [("count", False), ("histogram", False), ("mean", True)])
def test_what_becomes_of_intervals_is_said_for_each_kind(kind, widens):
    said = width_note(kind)
    assert ("do not widen" in said) != widens
    assert ("grows as fewer" in said) == widens


def test_a_portal_does_not_offer_what_it_refuses(published):
    with client_of(published.store, portal=True) as client:
        page = client.get("/leave").text
        assert "<textarea" not in page
        assert "portal where they log in" in page
        for path in ("/leave", "/leave/confirm"):
            answer = client.post(path, data={"receipt": published.receipt(4)})
            assert answer.status_code == 403
            assert "portal where they log in" in answer.text
            assert "the role" not in answer.text
        assert "leave with your receipt" not in client.get("/login").text
    assert published.is_there(4)


def spec_of(*columns):
    """The usual columns, and a histogram over these."""
    head = SPEC.partition("[publish.")[0]
    return head + f'[publish."age by city"]\nkind = "histogram"\ncolumns = {json.dumps(columns)}\n'


def test_a_table_shows_all_columns_and_says_where_it_ends(tmp_path, monkeypatch):
    published = Published(tmp_path, people=50, spec=spec_of("age", "city"))
    with client_of(published.store, public=True) as client:
        page = client.get("/").text
        assert "age = 41, city = Haifa" in page
        assert page.count("<tr><th scope") == 1 + 300, "a head, and every cell"
        assert "rows;" not in page
        monkeypatch.setattr(pages, "ROWS", 60)
        page = client.get("/").text
        assert page.count("<tr><th scope") == 1 + 60
        assert "60 of 300 rows" in page


def test_a_table_with_too_many_cells_shows_each_column_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(noisy_histogram, "MOST_SHOWN", 120)
    published = Published(tmp_path, people=50, spec=spec_of("age", "city"))
    with client_of(published.store, public=True) as client:
        told = client.get("/v1/publications/age by city").json()["answers"]
    labels = [answer["of"] for answer in told]
    assert len(labels) == 100 + 3
    assert (labels[0], labels[-1]) == ("age = 0", "city = Washington")


def test_the_first_button_of_the_lab_deletes_nothing(client, published):
    """Enter in a field of a form presses its first button."""
    log_in(client, published)
    page = client.get("/lab?game=median&deleted=10").text
    form = page.partition('hx-get="/lab"')[2]
    first = re.search("<button[^>]*>", form)[0]
    assert 'value="10"' in first


def test_a_browser_gets_a_page_and_a_program_json(published, monkeypatch):
    from undeleted.interfaces.http.service import Service

    html, browser = "text/html,application/xhtml+xml", {"Accept": "text/html,*/*;q=0.8"}
    with client_of(published.store, public=True, hosts=("localhost",)) as client:
        page = client.get("/nowhere", headers={"Accept": html})
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "There is nothing here." in page.text
        assert '<a href="/leave"' in page.text
        assert client.get("/audits/none", headers=browser).status_code == 404
        assert "<html" in client.get("/audits/none", headers=browser).text
        assert "<html" in client.get("/", headers=browser | {"Host": "elsewhere"}).text
        for path, headers in (("/nowhere", {}), ("/v1/nowhere", browser), ("/static/none", browser)):
            answer = client.get(path, headers=headers)
            assert (answer.status_code, answer.json()["status"]) == (404, 404)

        async def broken(self):
            raise RuntimeError

        monkeypatch.setattr(Service, "all", broken)
        answer = client.get("/", headers=browser)
        assert (answer.status_code, "bug in undeleted" in answer.text, "<html" in answer.text) == (
            500,
            True,
            True,
        )


def test_a_store_in_trouble_is_told_on_the_page_without_its_place(published):
    import os

    with client_of(published.store, erase_within=0.1, public=True) as client:
        os.rename(published.store, f"{published.store}.away")
        browser = {"Accept": "text/html"}
        answers = [
            client.post("/leave/confirm", data={"receipt": published.receipt(1)}, headers=browser),
            client.post("/leave", data={"receipt": published.receipt(1)}, headers=browser),
        ]
        while client.get("/health/ready").status_code == 200:
            pass
        answers.append(client.get("/", headers=browser))
        os.rename(f"{published.store}.away", published.store)
    assert (answers[0].status_code, answers[2].status_code) == (503, 503)
    for answer in answers:
        assert str(published.folder) not in answer.text
        assert "<html" in answer.text
    assert published.is_there(1)


def test_a_file_of_keys_that_breaks_is_a_page_too(client, published):
    log_in(client, published)
    open(f"{published.store}.keys", "w").close()
    for path in ("/", "/login"):
        answer = client.get(path, headers={"Accept": "text/html"})
        assert (answer.status_code, "<html" in answer.text) == (503, True)


@pytest.mark.parametrize("seed", ["", "abc", "-1", "7" * 30])
def test_a_seed_that_is_none_is_told_in_words(client, published, seed):
    log_in(client, published)
    page = client.get(f"/lab?seed={seed}", headers={"Accept": "text/html"})
    assert page.status_code == 422
    assert "query.seed: Input" not in page.text
