"""Receipts and certificates: what they say, what they hide, and what becomes of altered ones."""

import json
import stat

import jwt
import pytest

from support.services import SPEC, Published, table
from undeleted.curate.curator import Curator
from undeleted.curate.receipts import (
    CERTIFICATE,
    DataSet,
    Issuer,
    Receipt,
    _decoded,
    _encoded,
    issuer_of,
    opens,
)
from undeleted.curate.stores import open_store, tag_of
from undeleted.errors import BadReceipt, Misuse
from undeleted.interfaces.cli import run

KEY = bytes(range(32))
OTHER = bytes(32)


def test_a_receipt_is_a_jwt_that_others_can_check():
    issuer = Issuer(KEY)
    receipt, _ = issuer.receipt("p17")
    public = jwt.PyJWK(issuer.jwk).key
    claims = jwt.decode(receipt.token, public, algorithms=["EdDSA"], audience=issuer.name)
    assert claims["iss"] == "undeleted"
    certificate = jwt.decode(issuer.certificate(receipt), public, algorithms=["EdDSA"], audience=issuer.name)
    assert certificate["sub"] == receipt.digest


def test_it_names_a_record_to_the_curator_and_to_nobody_else():
    issuer, other = Issuer(KEY), Issuer(OTHER)
    receipt, _ = issuer.receipt("p17")
    assert issuer.tag_in(receipt) == tag_of(KEY, "p17")
    assert other.tag_in(receipt) is None
    told = receipt.token.encode()
    for part in (*receipt.token.split("."),):
        raw = jwt.utils.base64url_decode(part.encode())
        assert b"p17" not in raw
        assert tag_of(KEY, "p17") not in raw
    assert b"p17" not in told


def test_the_commitment_opens_to_its_person_alone():
    receipt, opening = Issuer(KEY).receipt("p17")
    assert opens(receipt, opening, "p17")
    assert not opens(receipt, opening, "p18")
    assert not opens(receipt, Issuer(KEY).receipt("p18")[1], "p17")
    assert not opens(receipt, "not base64!", "p17")
    longer = _encoded(_decoded(opening) + b"p")
    assert not opens(receipt, longer, "17"), "no part of the id passes for the salt"


def test_receipts_and_certificates_are_the_same_every_time():
    assert Issuer(KEY).receipt("p17") == Issuer(KEY).receipt("p17")
    receipt, _ = Issuer(KEY).receipt("p17")
    assert Issuer(KEY).certificate(receipt) == Issuer(KEY).certificate(receipt)


def test_no_altered_receipt_names_anybody():
    """Every character, replaced by its neighbour: it is no receipt any more, or it is not genuine."""
    issuer = Issuer(KEY)
    token = issuer.receipt("p17")[0].token
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    refused = strangers = 0
    for i, letter in enumerate(token):
        if letter == ".":
            continue
        altered = token[:i] + letters[letters.index(letter) ^ 1] + token[i + 1 :]
        try:
            found = Receipt.parse(altered)
        except BadReceipt:
            refused += 1
            continue
        assert issuer.tag_in(found) is None
        strangers += 1
    assert refused > 50, "the form is strict"
    assert strangers > 100, "and most alterations keep it"


def test_the_curator_who_signs_again_and_the_public_who_verifies_agree():
    issuer, public = Issuer(KEY), DataSet.of(Issuer(KEY).jwk)
    token = issuer.receipt("p17")[0].token
    altered = token[:-1] + ("A" if token[-1] != "A" else "Q")
    foreign = Issuer(OTHER).receipt("p17")[0].token
    for text, genuine in ((token, True), (altered, False), (foreign, False)):
        receipt = Receipt.parse(text)
        assert issuer.is_genuine(receipt) == public.is_genuine(receipt) == genuine


def test_parts_of_two_receipts_make_none():
    issuer = Issuer(KEY)
    one, other = issuer.receipt("p17")[0].token.split("."), issuer.receipt("p18")[0].token.split(".")
    assert issuer.tag_in(Receipt.parse(".".join([*one[:2], other[2]]))) is None
    assert issuer.tag_in(Receipt.parse(".".join([one[0], other[1], one[2]]))) is None


@pytest.mark.parametrize(
    "text", ["", "a.b", "a.b.c", "a.b.c.d", "é.é.é", "x" * 3000, "..", "e30.e30.e30", "[" * 1500 + ".a.b"]
)
def test_what_has_not_the_form_of_a_receipt_is_refused(text):
    with pytest.raises(BadReceipt):
        Receipt.parse(text)


def test_a_certificate_is_no_receipt():
    issuer = Issuer(KEY)
    with pytest.raises(BadReceipt):
        Receipt.parse(issuer.certificate(issuer.receipt("p17")[0]))


def test_a_certificate_is_worth_what_its_receipt_is_worth():
    issuer, other = Issuer(KEY), Issuer(OTHER)
    data_set = DataSet.of(issuer.jwk)
    mine, foreign = issuer.receipt("p17")[0], other.receipt("p17")[0]
    data_set.check_certificate(issuer.certificate(mine), mine)
    for certificate, receipt in (
        (issuer.certificate(foreign), foreign),  # a certificate of ours about somebody else's receipt
        (issuer.certificate(mine), issuer.receipt("p18")[0]),
        (other.certificate(mine), mine),
        (mine.token, mine),
        ("nonsense", mine),
    ):
        with pytest.raises(Misuse):
            data_set.check_certificate(certificate, receipt)
    assert jwt.get_unverified_header(issuer.certificate(mine))["typ"] == CERTIFICATE


@pytest.mark.parametrize("jwk", [{}, {"kty": "OKP"}, [], {"kty": "OKP", "crv": "Ed25519", "x": "AA"}, None])
def test_what_is_no_public_key_is_refused(jwk):
    with pytest.raises(Misuse):
        DataSet.of(jwk)


# -- on the command line


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "people.csv").write_text(table(50) + "p00007,11,Haifa\n")
    path = tmp_path / "spec.toml"
    path.write_text(SPEC.replace('id = "person"', 'id = "person"\nmax_rows_per_person = 2'))
    return path


def test_publish_writes_one_receipt_a_person(spec, tmp_path, capsys):
    out, store = tmp_path / "receipts.jsonl", str(tmp_path / "a.db")
    assert run(["publish", str(spec), "--store", store, "--receipts", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["receipts"] == str(out)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["person"] for line in lines] == [f"p{i:05d}" for i in range(50)], "once, with two rows too"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    with open_store(store) as opened:
        issuer = issuer_of(opened)
        assert {issuer.tag_in(Receipt.parse(line["receipt"])) for line in lines} == opened.tags()


def test_they_can_be_written_again_for_those_who_are_still_there(spec, tmp_path):
    store, first, again = str(tmp_path / "a.db"), tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    assert run(["publish", str(spec), "--store", store, "--receipts", str(first)]) == 0
    assert run(["delete", "p00003", "--store", store]) == 0
    (tmp_path / "people.csv").write_text(table(60))  # ten who were never published
    assert run(["publish", str(spec), "--store", store, "--receipts", str(again)]) == 0
    before, after = first.read_text().splitlines(), again.read_text().splitlines()
    assert after == [line for line in before if '"p00003"' not in line]


def test_nothing_is_published_if_receipts_cannot_be_written(spec, tmp_path, capsys):
    store, there = str(tmp_path / "a.db"), tmp_path / "there.jsonl"
    there.write_text("mine")
    assert run(["publish", str(spec), "--store", store, "--receipts", str(there)]) == 2
    assert run(["publish", str(spec), "--store", store, "--receipts", str(tmp_path / "no" / "x")]) == 2
    assert there.read_text() == "mine"
    assert not (tmp_path / "a.db").exists()
    assert "nothing was done" in capsys.readouterr().err


def test_a_publication_that_fails_leaves_no_receipts(tmp_path):
    (tmp_path / "people.csv").write_text("person,age,city\np1,500,Haifa\n")
    (tmp_path / "spec.toml").write_text(SPEC)
    out = tmp_path / "receipts.jsonl"
    assert (
        run(
            [
                "publish",
                str(tmp_path / "spec.toml"),
                "--store",
                str(tmp_path / "a.db"),
                "--receipts",
                str(out),
            ]
        )
        == 2
    )
    assert [p.name for p in tmp_path.glob("receipts*")] == []


def test_receipts_are_for_the_spec_that_was_published(tmp_path):
    published = Published(tmp_path, people=5)
    other = tmp_path / "other.toml"
    other.write_text(SPEC + "# another\n")
    with (
        Curator.open(published.store) as curator,
        pytest.raises(Misuse, match="not the spec that was published"),
    ):
        list(curator.receipts(other))


def test_receipt_check_and_key(tmp_path, capsys):
    published = Published(tmp_path, people=5)
    mine, key, certificate = tmp_path / "mine.json", tmp_path / "key.json", tmp_path / "certificate.txt"
    mine.write_text(json.dumps(published.lines[2]))
    assert run(["receipt", "key", "--store", published.store]) == 0
    key.write_text(capsys.readouterr().out)
    with open_store(published.store) as store:
        certificate.write_text(issuer_of(store).certificate(Receipt.parse(published.receipt(2))) + "\n")
    check = ["receipt", "check", str(mine), "--key", str(key), "--json"]
    assert run([*check, "--certificate", str(certificate), "--person", "p00002"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["genuine"], said["theirs"], said["certified"]) == (True, True, True)
    assert run([*check, "--person", "p00003"]) == 1
    certificate.write_text("x.y.z")
    assert run([*check, "--certificate", str(certificate)]) == 1
    assert run(["receipt", "check", str(key), "--key", str(key)]) == 2
    key.write_text(json.dumps({"key": json.loads(key.read_text()), "data_set": "as /v1/data-set has it"}))
    assert run(["receipt", "check", published.receipt(2), "--key", str(key)]) == 0, "the text itself"
    assert run(["receipt", "check", str(tmp_path / "none"), "--key", str(key)]) == 2


@pytest.mark.parametrize("text", ["\ud800", "a.b.c", "a.\ud800.c", "", "." * 9, "\x00", "é.é.é"])
def test_what_is_no_certificate_is_refused(text):
    issuer = Issuer(bytes(32))
    receipt, _ = issuer.receipt("p17")
    with pytest.raises(Misuse, match="not for this receipt"):
        DataSet.of(issuer.jwk).check_certificate(text, receipt)
