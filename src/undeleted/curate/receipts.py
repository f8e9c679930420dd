"""A person's receipt, and the certificate of deletion that it is exchanged for.

    receipt       signed by the data set's key: the data set, a salted commitment to the id, and the tag of
                  the record, sealed so that only the curator can open it.  No value, no id.
    opening       the salt; whoever has it can show whose receipt it is.  It stays with the person.
    certificate   signed by the same key: this data set holds no record that the receipt with this digest
                  names

All three follow from the store's key and the id, or from the receipt: a receipt that is written again is the
same receipt, a replay is answered with the same certificate, and the store keeps no list of those who left.

A certificate is true of any receipt, and worth what its receipt is worth: `check_certificate` looks at both.
"""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from typing import Any

from undeleted.curate.stores import Store, tag_of
from undeleted.errors import BadQuestion, BadReceipt

try:
    import jwt
    from cryptography.exceptions import InvalidSignature, InvalidTag
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
except ImportError:
    problem = "receipts need PyJWT and cryptography."
    raise BadQuestion(problem, "Install them with: pip install 'undeleted[serve]'.") from None

ISSUER = "undeleted"
RECEIPT, CERTIFICATE = "undeleted-receipt", "undeleted-certificate"
SAYS = "this data set holds no record that the receipt with this digest names"
LONGEST = 2048  # characters of a receipt
_OPENING = 16
_CLAIMS = {"iss", "aud", "sub", "seal"}
_DIGEST = re.compile("[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]")  # 32 bytes, in their one spelling
_SIGNED = "[A-Za-z0-9_-]{85}[AQgw]"  # 64 bytes


@dataclass(frozen=True)
class Receipt:
    """What a well-formed receipt says; whether it is genuine, and whose, is for the data set to tell."""

    token: str
    data_set: str
    commitment: str
    seal: bytes

    @classmethod
    def parse(cls, token: str) -> "Receipt":
        """Read a receipt; its form alone is judged here."""
        found = _form().fullmatch(token) if len(token) <= LONGEST else None
        if found is None:
            raise BadReceipt
        try:
            claims = json.loads(_decoded(found[1]))
        except (ValueError, RecursionError):
            raise BadReceipt from None
        if not isinstance(claims, dict) or claims.keys() != _CLAIMS or claims["iss"] != ISSUER:
            raise BadReceipt
        data_set, commitment, seal = claims["aud"], claims["sub"], claims["seal"]
        for text in (data_set, commitment, seal):
            if not isinstance(text, str) or not _DIGEST.fullmatch(text):
                raise BadReceipt
        return cls(token, data_set, commitment, _decoded(seal))

    @property
    def digest(self) -> str:
        """What a certificate knows it by."""
        return _encoded(hashlib.sha256(self.token.encode()).digest())


class DataSet:
    """The public face of a data set: its name, which is its key's thumbprint, and what the key has signed.

    >>> from undeleted.curate.stores import tag_of
    >>> issuer, other = Issuer(bytes(32)), Issuer(bytes(31) + b"1")
    >>> receipt, opening = issuer.receipt("p17")
    >>> issuer.is_genuine(receipt), other.is_genuine(receipt)
    (True, False)
    >>> opens(receipt, opening, "p17"), opens(receipt, opening, "p18")
    (True, False)
    >>> issuer.tag_in(receipt) == tag_of(bytes(32), "p17"), other.tag_in(receipt)
    (True, None)
    >>> DataSet.of(issuer.jwk).check_certificate(issuer.certificate(receipt), receipt)
    """

    def __init__(self, public: Ed25519PublicKey) -> None:
        self.public = public

    @classmethod
    def of(cls, jwk: dict[str, Any]) -> "DataSet":
        """A data set by its public key."""
        try:
            raw = _decoded(jwk["x"]) if (jwk["kty"], jwk["crv"]) == ("OKP", "Ed25519") else b""
            return cls(Ed25519PublicKey.from_public_bytes(raw))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise BadQuestion(
                "this is no public key of a data set.", "`undeleted receipt key` prints one."
            ) from None

    @cached_property
    def name(self) -> str:
        """RFC 7638's thumbprint."""
        jwk = {"crv": "Ed25519", "kty": "OKP", "x": self._x}
        return _encoded(hashlib.sha256(json.dumps(jwk, separators=(",", ":")).encode()).digest())

    @property
    def jwk(self) -> dict[str, Any]:
        """The public key, as others can read it."""
        told = {"kty": "OKP", "crv": "Ed25519", "x": self._x}
        return told | {"kid": self.name, "alg": "EdDSA", "use": "sig"}

    @cached_property
    def _x(self) -> str:
        return _encoded(self.public.public_bytes(Encoding.Raw, PublicFormat.Raw))

    def is_genuine(self, receipt: Receipt) -> bool:
        """Whether this data set's key has signed it: what anybody can tell who has the public key."""
        return self._signed(receipt.token) and hmac.compare_digest(receipt.data_set, self.name)

    def check_certificate(self, certificate: str, receipt: Receipt) -> None:
        """Refuse a certificate that is not this data set's, or of another receipt, or of a false one."""
        if not self.is_genuine(receipt):
            raise BadQuestion(
                "the receipt is not of this data set.", "A certificate is worth what its receipt is worth."
            )
        try:
            claims = jwt.decode(certificate, self.public, algorithms=["EdDSA"], audience=self.name)
            kind = jwt.get_unverified_header(certificate)["typ"]
        except (jwt.PyJWTError, KeyError, ValueError, TypeError, RecursionError):  # what is no certificate
            claims, kind = {}, None
        if kind != CERTIFICATE or claims.get("sub") != receipt.digest:
            raise BadQuestion(
                "the certificate is not of this receipt.", "Ask for it again, with the receipt."
            )

    def _signed(self, token: str) -> bool:
        told, _, signature = token.rpartition(".")
        try:
            self.public.verify(_decoded(signature), told.encode())
        except InvalidSignature:
            return False
        return True


class Issuer(DataSet):
    """The curator's side, from the store's key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._signing = Ed25519PrivateKey.from_private_bytes(_derived(key, b"undeleted-sign"))
        self._sealing = AESSIV(_derived(key, b"undeleted-siv"))
        super().__init__(self._signing.public_key())

    def receipt(self, person: str) -> tuple[Receipt, str]:
        """Somebody's receipt, and what opens its commitment."""
        opening = blake2b(
            _bytes(person), digest_size=_OPENING, key=self._key, person=b"undeleted-open"
        ).digest()
        commitment = _commitment(opening, person)
        seal = self._sealing.encrypt(tag_of(self._key, person), [self.name.encode(), commitment.encode()])
        claims = {"iss": ISSUER, "aud": self.name, "sub": commitment, "seal": _encoded(seal)}
        token = self._token(RECEIPT, claims)
        return Receipt(token, self.name, commitment, seal), _encoded(opening)

    def tag_in(self, receipt: Receipt) -> bytes | None:
        """Whose record a genuine receipt names; the same work for one that is not."""
        genuine = self.is_genuine(receipt)
        try:
            tag = self._sealing.decrypt(receipt.seal, [self.name.encode(), receipt.commitment.encode()])
        except InvalidTag:
            return None
        return tag if genuine else None

    def certificate(self, receipt: Receipt) -> str:
        """What its holder keeps; the same for the same receipt."""
        claims = {"iss": ISSUER, "aud": self.name, "sub": receipt.digest, "says": SAYS}
        return self._token(CERTIFICATE, claims)

    def _token(self, kind: str, claims: dict[str, str]) -> str:
        """A JWT; its header is always the same, so that receipts have one form."""
        told = f"{_head(kind)}.{_encoded(json.dumps(claims, separators=(',', ':')).encode())}"
        return f"{told}.{self._signature(told)}"

    def _signature(self, told: str) -> str:
        return _encoded(self._signing.sign(told.encode()))

    def _signed(self, token: str) -> bool:
        """By signing again, in a third of the time: Ed25519 signs a text in one way.

        What a stranger sent is signed to be compared, and the signature goes nowhere.
        """
        told, _, signature = token.rpartition(".")
        return hmac.compare_digest(self._signature(told), signature)

    def lines(self, people: Iterator[str], among: set[bytes] | None = None) -> Iterator[str]:
        """A line of JSON for everybody, once; of those with these tags, if there are any."""
        seen: set[bytes] = set()
        for person in people:
            tag = tag_of(self._key, person)
            if tag in seen or (among is not None and tag not in among):
                continue
            seen.add(tag)
            receipt, opening = self.receipt(person)
            line = {"person": person, "receipt": receipt.token, "opening": opening}
            yield json.dumps(line, ensure_ascii=not _is_writable(person))


def _is_writable(text: str) -> bool:
    """Whether UTF-8 has it: JSON may hold half a character."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def issuer_of(store: Store) -> Issuer:
    """Who signs for a store."""
    return Issuer(store.key)


def opens(receipt: Receipt, opening: str, person: str) -> bool:
    """Whether the receipt is this person's."""
    try:
        salt = _decoded(opening)
    except ValueError:
        return False
    return len(salt) == _OPENING and hmac.compare_digest(receipt.commitment, _commitment(salt, person))


@cache
def _form() -> re.Pattern[str]:
    """What receipts look like."""
    return re.compile(rf"{_head(RECEIPT)}\.([A-Za-z0-9_-]+)\.{_SIGNED}")


@cache
def _head(kind: str) -> str:
    return _encoded(json.dumps({"alg": "EdDSA", "typ": kind}, separators=(",", ":")).encode())


def _commitment(opening: bytes, person: str) -> str:
    return _encoded(hashlib.sha256(b"undeleted receipt of " + opening + _bytes(person)).digest())


def _derived(key: bytes, purpose: bytes) -> bytes:
    return blake2b(key=key, person=purpose, digest_size=32).digest()


def _bytes(person: str) -> bytes:
    return person.encode("utf-8", "surrogatepass")


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    """Base64 for addresses, in its one spelling."""
    data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if _encoded(data) != text:
        raise ValueError(text)
    return data
