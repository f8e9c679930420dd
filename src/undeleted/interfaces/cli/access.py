"""Commands for the service's API keys, people's receipts and certificates of deletion."""

import json as js
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from undeleted.errors import BadFile, BadUsage, Misuse
from undeleted.foundations.types import Given, Json
from undeleted.interfaces.cli.curate import Store, store_at
from undeleted.interfaces.cli.durations import seconds_of
from undeleted.interfaces.cli.output import renders
from undeleted.interfaces.report.result import Result, table

CREATE = "Example: undeleted key create dashboard --role reader --expires 90d"
LIST = "Example: undeleted key list --json"
REVOKE = "Example: undeleted key revoke dashboard"
PUBLIC = "Example: undeleted receipt key --store people.db > data-set.json"
CHECK = "Example: undeleted receipt check mine.json --key data-set.json --certificate certificate.txt"
KeyFile = Annotated[Path | None, typer.Option("--keys", help="The key file; by default beside the store.")]


def keys_group() -> typer.Typer:
    app = typer.Typer(help="API keys of the service: shown once when created, revoked by name.")
    app.command(name="create", epilog=CREATE)(create)
    app.command(name="list", epilog=LIST)(list_keys)
    app.command(name="revoke", epilog=REVOKE)(revoke)
    return app


def receipts_group() -> typer.Typer:
    app = typer.Typer(help="Receipts that people leave with, and certificates of deletion.")
    app.command(name="check", epilog=CHECK)(check_receipt)
    app.command(name="key", epilog=PUBLIC)(public_key)
    return app


@renders
def create(
    name: Annotated[str, typer.Argument(help="The key's name, for listing and revoking it.")] = "",
    role: Annotated[
        str, typer.Option(help="operator: publishes, deletes; reader: reads; person: leaves.")
    ] = "",
    expires: Annotated[str, typer.Option(help="The key's lifetime: 12h, 90d; unlimited by default.")] = "",
    store: Store = None,
    keys: KeyFile = None,
) -> Result:
    """Create a key.  It is shown only now; the file keeps its digest."""
    from undeleted.interfaces.http.keys import ROLES, Keys, keys_at

    if not role:
        raise BadUsage("the key has no role.", f"Add --role {' or --role '.join(ROLES)}.")
    until = int(time.time() + seconds_of(expires)) if expires else None
    path = keys_at(store_at(store), keys)
    token = Keys(path).create(name or role, role, until)
    facts = {"key": token, "name": name or role, "role": role, "expires": _when(until)}
    below = "Keep it now: it is not shown again.  Send it as:  Authorization: Bearer …"
    return Result(facts | {"file": str(path)}, facts, below)


@renders
def list_keys(store: Store = None, keys: KeyFile = None) -> Result:
    """List the keys by name, without the keys themselves."""
    from undeleted.interfaces.http.keys import Keys, keys_at

    results = [
        {
            "name": key.name,
            "role": key.role,
            "created": _when(key.created),
            "expires": _when(key.expires),
            "expired": key.expired,
        }
        for key in Keys(keys_at(store_at(store), keys)).all()
    ]
    rows = [
        [
            str(key["name"]),
            str(key["role"]),
            f"made {key['created']}, "
            + ("never expires" if key["expires"] is None else f"expires {key['expires']}")
            + (" (expired)" if key["expired"] else ""),
        ]
        for key in results
    ]
    return Result(results, table(rows) or "there are no keys; `undeleted key create --role reader` makes one")


@renders
def revoke(
    name: Annotated[str, typer.Argument(help="A key's name; `undeleted key list` shows the names.")],
    store: Store = None,
    keys: KeyFile = None,
) -> Result:
    """Revoke a key; a running service refuses it at once."""
    from undeleted.interfaces.http.keys import Keys, keys_at

    gone = Keys(keys_at(store_at(store), keys)).revoke(name)
    facts = {"revoked": gone.name, "role": gone.role}
    return Result(facts)


def public_key(store: Store = None) -> None:
    """Print the public key of a data set as JSON (a JWK); it checks receipts and certificates."""
    from undeleted.curate.curator import Curator
    from undeleted.curate.receipts import issuer_of

    with Curator.open(store_at(store)) as curator:
        print(Result(issuer_of(curator.store).jwk).as_json())


@renders
def check_receipt(
    receipt: Annotated[
        Path, typer.Argument(help="A file with a receipt or its JSON line; or the receipt text itself.")
    ],
    key: Annotated[
        Path, typer.Option(help="A file with the data set's public key, from `receipt key` or /v1/data-set.")
    ],
    certificate: Annotated[
        Path | None, typer.Option(help="A certificate of deletion to check as well.")
    ] = None,
    person: Annotated[
        str,
        typer.Option(
            help="Check that the receipt belongs to this person; needs the whole line, with its `opening`."
        ),
    ] = "",
) -> Result:
    """Check that a receipt is genuine, is PERSON's, and matches a certificate.  Needs no store.

    Exit code 1 if a check fails.
    """
    from undeleted.curate.receipts import DataSet, Receipt, opens

    line = line_of(receipt)
    result = Receipt.parse(line["receipt"])
    data_set = DataSet.of(_read_json(key))
    facts: Json = {"data_set": data_set.name, "genuine": data_set.is_genuine(result)}
    if person:
        facts["theirs"] = opens(result, str(line.get("opening", "")), person)
    if certificate is not None:
        try:
            data_set.check_certificate(_text(certificate).strip(), result)
            facts["certified"] = True
        except Misuse as error:
            facts |= {"certified": False, "because": error.what}
    return Result(facts, code=int(not all(value for value in facts.values())))


def line_of(path: Path) -> Json:
    """Return the JSON line of a receipt; the receipt text alone is wrapped into a line."""
    text = str(path) if str(path).count(".") == 2 and len(str(path)) > 255 else _text(path).strip()
    if not text.startswith("{"):
        return {"receipt": text}
    try:
        line = js.loads(text)
        if isinstance(line["receipt"], str):
            return dict(line)
    except (ValueError, KeyError):
        pass
    raise BadFile(
        str(path), "holds no receipt.", "Give one line of the file that `publish --receipts` wrote."
    )


def _read_json(path: Path) -> Given:
    try:
        data = js.loads(_text(path))
        return data["key"] if isinstance(data, dict) and "key" in data else data  # as /v1/data-set has it
    except ValueError:
        raise BadFile(str(path), "is not JSON.", "`undeleted receipt key` prints a public key.") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadFile(str(path), f"cannot be read ({error.strerror}).", "Check the path.") from None
    except UnicodeDecodeError:
        raise BadFile(str(path), "is not UTF-8 text.", "Give the receipt as it was handed out.") from None


def _when(seconds: int | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="minutes")
