"""API keys: shown once, kept as digests in a file beside the store, listed and revoked by name.

A key has 32 random bytes and cannot be found from its digest, so no slow hash is needed.  The file is read
again when it changes: a running service refuses a key as soon as it is revoked on the command line.
"""

import fcntl
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from undeleted.curate.durable import atomic
from undeleted.curate.stores import key_file_of
from undeleted.errors import AlreadyExists, BadFile, BadSetting, UnknownName

Role = Literal["operator", "reader", "person"]
ROLES: tuple[str, ...] = get_args(Role)
PREFIX = "undeleted"
FORMAT = 1


@dataclass(frozen=True)
class Key:
    """A key as the file keeps it."""

    name: str
    role: str
    digest: str
    created: int
    expires: int | None = None

    @property
    def expired(self) -> bool:
        return self.expires is not None and self.expires <= time.time()


def keys_at(store: str, given: Path | None = None) -> Path:
    """The file of a store's keys, unless another is named."""
    return given or Path(f"{key_file_of(store)}s")


class Keys:
    """The keys in a file; a missing file holds none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._by_digest: dict[str, Key] = {}

    def create(self, name: str, role: str, expires: int | None = None) -> str:
        """Create a key and return it; it cannot be shown again."""
        if role not in ROLES:
            raise UnknownName("roles", role, ROLES)
        if not name or len(name) > 64 or not name.isprintable() or name != name.strip():
            raise BadSetting("this name for a key is not valid.", "Give 1 to 64 characters, such as: ci.")
        token = f"{PREFIX}_{role}_{secrets.token_urlsafe(32)}"
        with self._writing() as keys:
            if any(key.name == name for key in keys):
                raise AlreadyExists(f"a key named {name!r}", "Revoke it first, or choose another name.")
            keys.append(Key(name, role, _digest(token), int(time.time()), expires))
        return token

    def revoke(self, name: str) -> Key:
        """Refuse a key from now on."""
        with self._writing() as keys:
            results = [key for key in keys if key.name == name]
            if not results:
                raise UnknownName("keys", name, [key.name for key in keys])
            keys.remove(results[0])
        return results[0]

    def all(self) -> list[Key]:
        """The keys, oldest first."""
        try:
            saved = json.loads(self.path.read_text(encoding="utf-8"))
            if saved["format"] > FORMAT:
                remedy = "Use the version of undeleted that wrote it, or a newer one."
                raise BadFile(str(self.path), f"has format {saved['format']}; this reads {FORMAT}.", remedy)
            return [Key(**key) for key in saved["keys"]]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise BadFile(
                str(self.path), f"cannot be read ({error.strerror}).", "Check its permissions."
            ) from None
        except (ValueError, KeyError, TypeError):
            raise BadFile(
                str(self.path), "is not a key file.", "Restore it, or remove it and create new keys."
            ) from None

    def find(self, token: str) -> Key | None:
        """Return the key if it is known and has not expired."""
        self._look()
        key = self._by_digest.get(_digest(token))
        return None if key is None or key.expired else key

    def named(self, name: str, digest: str) -> Key | None:
        """Return a session's key by name and digest, if it is still valid."""
        self._look()
        key = self._by_digest.get(digest)
        return None if key is None or key.name != name or key.expired else key

    def _look(self) -> None:
        """Read the file again if it has changed."""
        try:
            result = self.path.stat()
            seen = (result.st_mtime_ns, result.st_ino, result.st_size)
        except OSError:
            seen = (0, 0, 0)
        if seen != self._seen:
            self._by_digest = {key.digest: key for key in self.all()}
            self._seen = seen

    @contextmanager
    def _writing(self) -> Iterator[list[Key]]:
        """Change the keys; the file is replaced atomically."""
        try:
            lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise BadFile(
                str(self.path), f"cannot be written ({error.strerror}).", "Check its folder."
            ) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            keys = self.all()
            yield keys
            with atomic(self.path, private=True) as file:
                json.dump({"format": FORMAT, "keys": [asdict(key) for key in keys]}, file, indent=1)
        except OSError as error:
            raise BadFile(
                str(self.path), f"cannot be written ({error.strerror}).", "Fix that and try again."
            ) from None
        finally:
            os.close(lock)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
