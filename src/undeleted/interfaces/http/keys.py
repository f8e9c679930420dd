"""API keys: shown once, kept as digests in a file beside the store, listed and revoked by name.

A key is 32 random bytes; nobody finds it from its digest, so no slow hash is needed.  The file is read again
when it changes: a key that is revoked on the command line is refused by a running service at once.
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

from undeleted.curate.durable import sync
from undeleted.curate.stores import key_file_of
from undeleted.errors import AlreadyThere, BadFile, BadQuestion, UnknownName

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
    """The keys in a file; one that is not there holds none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._by_digest: dict[str, Key] = {}

    def create(self, name: str, role: str, expires: int | None = None) -> str:
        """Make a key and return it: this is the only time that it is seen."""
        if role not in ROLES:
            raise UnknownName("roles", role, ROLES)
        if not name or len(name) > 64 or not name.isprintable() or name != name.strip():
            raise BadQuestion("this is no name for a key.", "Give 1 to 64 letters, such as: ci, dashboard.")
        token = f"{PREFIX}_{role}_{secrets.token_urlsafe(32)}"
        with self._writing() as keys:
            if any(key.name == name for key in keys):
                raise AlreadyThere(f"a key named {name!r}", "Revoke it first, or choose another name.")
            keys.append(Key(name, role, _digest(token), int(time.time()), expires))
        return token

    def revoke(self, name: str) -> Key:
        """Refuse a key from now on."""
        with self._writing() as keys:
            found = [key for key in keys if key.name == name]
            if not found:
                raise UnknownName("keys", name, [key.name for key in keys])
            keys.remove(found[0])
        return found[0]

    def all(self) -> list[Key]:
        """The keys, oldest first."""
        try:
            told = json.loads(self.path.read_text(encoding="utf-8"))
            if told["format"] > FORMAT:
                remedy = "Use the version of undeleted that wrote it, or a newer one."
                raise BadFile(str(self.path), f"has format {told['format']}; this reads {FORMAT}.", remedy)
            return [Key(**key) for key in told["keys"]]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise BadFile(
                str(self.path), f"cannot be read ({error.strerror}).", "Check its rights."
            ) from None
        except (ValueError, KeyError, TypeError):
            raise BadFile(
                str(self.path), "is no file of keys.", "Restore it, or remove it and make new keys."
            ) from None

    def find(self, token: str) -> Key | None:
        """The key, if it is one and has not expired."""
        self._look()
        key = self._by_digest.get(_digest(token))
        return None if key is None or key.expired else key

    def named(self, name: str, digest: str) -> Key | None:
        """A key by what a session remembers of it, if it still holds."""
        self._look()
        key = self._by_digest.get(digest)
        return None if key is None or key.name != name or key.expired else key

    def _look(self) -> None:
        """Read the file again if it has changed."""
        try:
            found = self.path.stat()
            seen = (found.st_mtime_ns, found.st_ino, found.st_size)
        except OSError:
            seen = (0, 0, 0)
        if seen != self._seen:
            self._by_digest = {key.digest: key for key in self.all()}
            self._seen = seen

    @contextmanager
    def _writing(self) -> Iterator[list[Key]]:
        """Change the keys; the file is there whole, or as it was."""
        new = Path(f"{self.path}.new")
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
            new.unlink(missing_ok=True)
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump({"format": FORMAT, "keys": [asdict(key) for key in keys]}, file, indent=1)
            sync(new)
            os.replace(new, self.path)
            sync(self.path.absolute().parent)
        except OSError as error:
            new.unlink(missing_ok=True)
            raise BadFile(
                str(self.path), f"cannot be written ({error.strerror}).", "See to it, and try again."
            ) from None
        finally:
            os.close(lock)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
