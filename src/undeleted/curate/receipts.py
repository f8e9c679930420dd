"""A person's receipt, and the certificate of deletion that it is exchanged for.

    receipt       signed by the data set's key: the data set, a salted commitment to the id, and the tag of
                  the record, encrypted so that only the curator can read it.  No value, no id.
    opening       the salt; anybody who has it can show whose receipt it is.  The person keeps it.
    certificate   signed by the same key: this data set holds no record that the receipt with this digest
                  names

All three are computed from the store's key and the id, or from the receipt.  So issuing a receipt again gives
the same receipt, a replayed request gets the same certificate, and the store keeps no list of leavers.

Where the store keeps no records, a receipt carries the person's own codes instead of a tag, encrypted, and
cannot be issued again.  The certificate then says that the receipt is used.  It carries the version of the
store and how many receipts were used, encrypted with a new nonce: the curator can see with it whether a store
is an older copy, and strangers learn nothing from it.

The statement of a certificate is true of any receipt, even a forged one.  So it means nothing unless the
receipt is genuine: `check_certificate` checks both.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b

from undeleted.curate.stores import Store, tag_of
from undeleted.errors import BadReceipt, BadSetting, MissingExtra, NotGenuine
from undeleted.foundations.types import Json

try:
    import jwt
    from cryptography.exceptions import InvalidSignature, InvalidTag
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
except ImportError as error:
    raise MissingExtra("a receipt", str(error.name), "serve") from None

ISSUER = "undeleted"
RECEIPT, CERTIFICATE = "undeleted-receipt", "undeleted-certificate"
SAYS = "this data set holds no record that the receipt with this digest names"
SAYS_WITHOUT_RECORDS = "the receipt with this digest is used: its person has left this data set"
LONGEST = 16_384  # most characters in a receipt
_OPENING = 16
_CLAIMS = {"iss", "aud", "sub", "seal"}
_DIGEST = re.compile("[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]")  # 32 bytes in canonical base64url
_SEAL = re.compile("[A-Za-z0-9_-]{30,}")
_PROGRESS = struct.Struct("<qq")
_SIGNED = "[A-Za-z0-9_-]{85}[AQgw]"  # 64 bytes


@dataclass(frozen=True)
class Receipt:
    """The contents of a well-formed receipt; the data set checks that it is genuine, and whose it is."""

    token: str
    data_set: str
    commitment: str
    seal: bytes

    @classmethod
    def parse(cls, token: str) -> "Receipt":
        """Parse a receipt; this checks its form only."""
        match = _form().fullmatch(token) if len(token) <= LONGEST else None
        if match is None:
            raise BadReceipt
        try:
            claims = json.loads(_decoded(match[1]))
        except (ValueError, RecursionError):
            raise BadReceipt from None
        if not isinstance(claims, dict) or claims.keys() != _CLAIMS or claims["iss"] != ISSUER:
            raise BadReceipt
        data_set, commitment, seal = claims["aud"], claims["sub"], claims["seal"]
        for text, form in ((data_set, _DIGEST), (commitment, _DIGEST), (seal, _SEAL)):
            if not isinstance(text, str) or not form.fullmatch(text):
                raise BadReceipt
        try:
            return cls(token, data_set, commitment, _decoded(seal))
        except ValueError:
            raise BadReceipt from None

    @property
    def digest(self) -> str:
        """The digest by which a certificate refers to this receipt."""
        return _encoded(hashlib.sha256(self.token.encode()).digest())


class DataSet:
    """The public side of a data set: its public key, its name (the key's thumbprint) and signature checks.

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
    def of(cls, jwk: Json) -> "DataSet":
        """Return the data set that has this public key, a JWK."""
        try:
            raw = _decoded(jwk["x"]) if (jwk["kty"], jwk["crv"]) == ("OKP", "Ed25519") else b""
            return cls(Ed25519PublicKey.from_public_bytes(raw))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise NotGenuine(
                "this is not the public key of a data set.", "`undeleted receipt key` prints one."
            ) from None

    @cached_property
    def name(self) -> str:
        """The RFC 7638 thumbprint of the public key."""
        jwk = {"crv": "Ed25519", "kty": "OKP", "x": self._x}
        return _encoded(hashlib.sha256(json.dumps(jwk, separators=(",", ":")).encode()).digest())

    @property
    def jwk(self) -> Json:
        """The public key as a JWK."""
        key = {"kty": "OKP", "crv": "Ed25519", "x": self._x}
        return key | {"kid": self.name, "alg": "EdDSA", "use": "sig"}

    @cached_property
    def _x(self) -> str:
        return _encoded(self.public.public_bytes(Encoding.Raw, PublicFormat.Raw))

    def is_genuine(self, receipt: Receipt) -> bool:
        """Return whether this data set's key signed it; anybody who has the public key can check this."""
        return self._signed(receipt.token) and hmac.compare_digest(receipt.data_set, self.name)

    def check_certificate(self, certificate: str, receipt: Receipt) -> None:
        """Refuse a certificate of another data set or another receipt, or one whose receipt is false."""
        if not self.is_genuine(receipt):
            raise NotGenuine(
                "this data set did not sign the receipt.",
                "Give the genuine receipt: without it a certificate means nothing.",
            )
        try:
            claims = jwt.decode(certificate, self.public, algorithms=["EdDSA"], audience=self.name)
            kind = jwt.get_unverified_header(certificate)["typ"]
        except (jwt.PyJWTError, KeyError, ValueError, TypeError, RecursionError):  # not a certificate
            claims, kind = {}, None
        if kind != CERTIFICATE or claims.get("sub") != receipt.digest:
            raise NotGenuine("the certificate is not for this receipt.", "Request it again with the receipt.")

    def _signed(self, token: str) -> bool:
        signing_input, _, signature = token.rpartition(".")
        try:
            self.public.verify(_decoded(signature), signing_input.encode())
        except InvalidSignature:
            return False
        return True


class Issuer(DataSet):
    """The curator's side: it signs and encrypts with keys derived from the store's key."""

    def __init__(self, key: bytes, *, keeps_records: bool = True) -> None:
        self._key, self.keeps_records = key, keeps_records
        self._signing = Ed25519PrivateKey.from_private_bytes(_derived(key, b"undeleted-sign"))
        self._sealing = AESSIV(_derived(key, b"undeleted-siv"))
        self._claims = AESSIV(_derived(key, b"undeleted-claim"))
        self._versions = AESSIV(_derived(key, b"undeleted-vers"))
        super().__init__(self._signing.public_key())

    def receipt(self, person: str) -> tuple[Receipt, str]:
        """A person's receipt, and the salt that opens its commitment."""
        opening = blake2b(
            _bytes(person), digest_size=_OPENING, key=self._key, person=b"undeleted-open"
        ).digest()
        commitment = _commitment(opening, person)
        seal = self._sealing.encrypt(tag_of(self._key, person), [self.name.encode(), commitment.encode()])
        claims = {"iss": ISSUER, "aud": self.name, "sub": commitment, "seal": _encoded(seal)}
        token = self._token(RECEIPT, claims)
        return Receipt(token, self.name, commitment, seal), _encoded(opening)

    def receipt_of(self, person: str, claim: bytes) -> tuple[Receipt, str]:
        """A receipt that carries a claim, for a store without records; each has a serial of its own."""
        opening = os.urandom(_OPENING)
        commitment = _commitment(opening, person)
        seal = self._claims.encrypt(claim, [self.name.encode(), commitment.encode()])
        claims = {"iss": ISSUER, "aud": self.name, "sub": commitment, "seal": _encoded(seal)}
        token = self._token(RECEIPT, claims)
        if len(token) > LONGEST:
            problem = f"a receipt would have {len(token):,} characters, more than {LONGEST:,}."
            raise BadSetting(problem, "Publish fewer columns, or allow fewer rows per person.")
        return Receipt(token, self.name, commitment, seal), _encoded(opening)

    def inside(self, receipt: Receipt) -> bytes | None:
        """What a store deletes by: the tag, or where no records are kept the claim; None if it is false."""
        return self.tag_in(receipt) if self.keeps_records else self.claim_in(receipt)

    def claim_in(self, receipt: Receipt) -> bytes | None:
        """The claim that a genuine receipt carries, else None; a false receipt takes the same work."""
        return self._opened(self._claims, receipt)

    def tag_in(self, receipt: Receipt) -> bytes | None:
        """The tag that a genuine receipt contains, else None; a false receipt takes the same work."""
        return self._opened(self._sealing, receipt)

    def _opened(self, sealing: AESSIV, receipt: Receipt) -> bytes | None:
        genuine = self.is_genuine(receipt)
        try:
            inside = sealing.decrypt(receipt.seal, [self.name.encode(), receipt.commitment.encode()])
        except InvalidTag:
            return None
        return inside if genuine else None

    def certificate(self, receipt: Receipt, progress: tuple[int, int] | None = None) -> str:
        """The certificate for a receipt; always the same for the same receipt.

        With `progress`, of a store without records, it also carries the version, for the curator alone.
        """
        claims = {"iss": ISSUER, "aud": self.name, "sub": receipt.digest, "says": SAYS}
        if progress is not None:
            nonce = os.urandom(16)
            bound = [receipt.digest.encode(), nonce]
            sealed = self._versions.encrypt(_PROGRESS.pack(*progress), bound)
            claims |= {"says": SAYS_WITHOUT_RECORDS, "at": _encoded(nonce + sealed)}
        return self._token(CERTIFICATE, claims)

    def progress_in(self, certificate: str) -> tuple[int, int]:
        """How far the store was when it gave this certificate: its version, and receipts used."""
        try:
            claims = jwt.decode(certificate, self.public, algorithms=["EdDSA"], audience=self.name)
            sealed = _decoded(claims["at"])
            data = self._versions.decrypt(sealed[16:], [claims["sub"].encode(), sealed[:16]])
            version, used = _PROGRESS.unpack(data)
        except (jwt.PyJWTError, InvalidTag, KeyError, ValueError, TypeError, AttributeError, struct.error):
            problem = "this is not a certificate that this store gave, with its version in it."
            raise NotGenuine(problem, "Give a certificate of deletion that this very store gave.") from None
        return version, used

    def _token(self, kind: str, claims: dict[str, str]) -> str:
        """A signed JWT; the header of a kind is always the same, so that receipts have one form."""
        signing_input = f"{_head(kind)}.{_encoded(json.dumps(claims, separators=(',', ':')).encode())}"
        return f"{signing_input}.{self._signature(signing_input)}"

    def _signature(self, signing_input: str) -> str:
        return _encoded(self._signing.sign(signing_input.encode()))

    def _signed(self, token: str) -> bool:
        """Verify by signing again, in a third of the time: Ed25519 signatures are deterministic.

        The signature of a text that a stranger sent is only compared, and is never returned.
        """
        signing_input, _, signature = token.rpartition(".")
        return hmac.compare_digest(self._signature(signing_input), signature)

    def lines(self, people: Iterator[str], among: set[bytes] | None = None) -> Iterator[str]:
        """Yield one line of JSON per person, without repeats; only for the tags in `among`, if given."""
        seen: set[bytes] = set()
        for person in people:
            tag = tag_of(self._key, person)
            if tag in seen or (among is not None and tag not in among):
                continue
            seen.add(tag)
            receipt, opening = self.receipt(person)
            yield line_of(person, receipt, opening)


def line_of(person: str, receipt: Receipt, opening: str) -> str:
    """What a person gets, as a line of JSON."""
    line = {"person": person, "receipt": receipt.token, "opening": opening}
    return json.dumps(line, ensure_ascii=not is_writable(person))


def token_in(text: str) -> str:
    """The receipt in a line of JSON as it was handed out; or the text itself, if it is a receipt."""
    text = text.strip()
    if not text.startswith("{"):
        return text
    try:
        token = json.loads(text)["receipt"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadReceipt from None
    if not isinstance(token, str):
        raise BadReceipt
    return token


def is_writable(text: str) -> bool:
    """Return whether UTF-8 can encode it: JSON may contain a lone surrogate."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def issuer_of(store: Store) -> Issuer:
    """The issuer that signs for a store."""
    return Issuer(store.key, keeps_records=store.keeps_records)


def opens(receipt: Receipt, opening: str, person: str) -> bool:
    """Return whether the opening shows that the receipt is this person's."""
    try:
        salt = _decoded(opening)
    except ValueError:
        return False
    return len(salt) == _OPENING and hmac.compare_digest(receipt.commitment, _commitment(salt, person))


@cache
def _form() -> re.Pattern[str]:
    """The pattern of a receipt."""
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
    """Decode base64url; only the canonical spelling is accepted."""
    data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if _encoded(data) != text:
        raise ValueError(text)
    return data
