"""Run every claim of the paper, and save the results: `report.json` is complete after each claim.

A stopped run continues where it was.  The existing report must come from the same code, the same seed and the
same effort; any other is refused, so that nothing is lost and nothing is mixed.
"""

import json
import os
import platform
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import metadata, resources
from pathlib import Path
from time import perf_counter

import undeleted
from undeleted.curate.durable import atomic
from undeleted.errors import BadFile, UnknownName
from undeleted.foundations import registry
from undeleted.foundations.types import Json
from undeleted.paper.claim import VERDICTS, ClaimResult, Figure, Setting

FOLDER = "undeleted.paper.claims"
FORMAT = 1
CRASHED = "the claim runs without an error"
KINDS = "PDMG"  # attacks, definitions, mechanisms, beyond the paper; then the survey
REMEDY = "Name another --out, or add --overwrite."
LIBRARIES = ("altair", "highspy", "numpy", "opendp", "scipy", "vl-convert-python")


def claims() -> list[str]:
    """P1 … P9, D1 … D5, M1 … M11, G4, survey."""

    def place(claim: str) -> tuple[int, int]:
        number = claim[1:]
        return (KINDS.index(claim[0]), int(number)) if number.isdigit() else (len(KINDS), 0)

    return sorted((label(name) for name in registry.names(FOLDER)), key=place)


def label(name: str) -> str:
    """Return a claim's label: `p6-batch-queries` and `p6` are P6."""
    claim = name.partition("-")[0]
    return claim.upper() if claim[1:].isdigit() else name


def file_of(claim: str) -> str:
    """Return a claim's registry name: P6 is `p6-batch-queries`."""
    return next(name for name in registry.names(FOLDER) if label(name) == claim)


def chosen(names: Sequence[str]) -> list[str]:
    """Return the named claims, in any accepted spelling; all if none is named."""
    words = [word.strip().lower() for name in names for word in name.split(",")]
    known = registry.names(FOLDER)
    wanted = [label(word) if word in known or "-" not in word else word for word in words]
    for name in wanted:
        if name not in claims():
            raise UnknownName("claims", name, tuple(claims()))
    return [name for name in claims() if not wanted or name in wanted]


def run(name: str, setting: Setting) -> ClaimResult:
    """Run one claim; an exception becomes a figure that does not hold."""
    try:
        result: ClaimResult = registry.find(FOLDER, file_of(name))(setting)
        return result
    except Exception as error:
        stopped = f"{type(error).__name__}: {error}".split("\n")[0]
        return ClaimResult((Figure(CRASHED, stopped, "yes", False),))


@dataclass
class Reproduction:
    """A report that grows claim by claim."""

    folder: Path
    setting: Setting
    results: dict[str, Json] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path, setting: Setting, *, overwrite: bool = False) -> "Reproduction":
        """Open the existing report if it belongs to this run; otherwise start or refuse."""
        report = cls(folder, setting)
        path, page = folder / "report.json", folder / "index.html"
        if folder.exists() and not folder.is_dir():
            raise BadFile(str(folder), "is a file, but a report is a folder.", "Name another --out.")
        if page.exists() and not path.exists() and not overwrite:
            raise BadFile(str(page), "exists, and does not belong to a report.", REMEDY)
        if not path.exists() or overwrite:
            _begin(folder)
            return report
        kept = _read(path)
        if report._identity() != {key: kept.get(key) for key in report._identity()}:
            effort = "quick" if kept.get("quick") else "full"
            other = f"{effort}, seed {kept.get('seed')}, undeleted {kept.get('undeleted')} {kept.get('code')}"
            raise BadFile(str(path), f"holds another report ({other}).", REMEDY)
        report.results, report.seconds = kept["claims"], kept["seconds"]
        _begin(folder)
        return report

    def kept(self, wanted: Sequence[str]) -> list[str]:
        """The claims that need not run again; a claim that crashed runs again."""
        there = [name for name in wanted if name in self.results]
        return [name for name in there if self.results[name]["figures"][0]["what"] != CRASHED]

    def add(self, name: str) -> Json:
        """Run a claim and save the report."""
        started = perf_counter()
        result = run(name, self.setting)
        about = {
            "title": registry.summary(FOLDER, file_of(name)).rstrip("."),
            "says": registry.constant(FOLDER, file_of(name), "SAYS"),
            "where": registry.constant(FOLDER, file_of(name), "WHERE"),
            "command": self.command(name),
        }
        self.results[name] = about | json.loads(json.dumps(result.as_json()))
        self.seconds[name] = round(perf_counter() - started, 2)
        self.results = {key: self.results[key] for key in claims() if key in self.results}
        self.save()
        return self.results[name]

    def command(self, name: str = "") -> str:
        """The command that makes this report, or one claim of it."""
        some = [name] if name else list(self.results) if len(self.results) < len(claims()) else []
        only = "".join(f" --only {one}" for one in some)
        return (
            f"undeleted reproduce{only}{' --quick' if self.setting.quick else ''} --seed {self.setting.seed}"
        )

    @property
    def summary(self) -> dict[str, int]:
        """The number of claims with each verdict."""
        counts = Counter(result["verdict"] for result in self.results.values())
        return {verdict: counts[verdict] for verdict in VERDICTS}

    def as_json(self) -> Json:
        return {
            **self._identity(),
            "command": self.command(),
            "summary": self.summary,
            "claims": self.results,
            "machine": machine(),
            "seconds": self.seconds,
        }

    def save(self) -> None:
        _replace(self.folder / "report.json", json.dumps(self.as_json(), indent=1, ensure_ascii=False) + "\n")

    def write_page(self, page: Callable[["Reproduction"], str]) -> Path:
        path = self.folder / "index.html"
        _replace(path, page(self))
        return path

    def _identity(self) -> Json:
        return {
            "format": FORMAT,
            "undeleted": undeleted.__version__,
            "code": code(),
            "quick": self.setting.quick,
            "seed": self.setting.seed,
        }


def code() -> str:
    """A digest of our source and of the libraries' versions; a saved claim must match what would run now."""
    digest = sha256(json.dumps(libraries()).encode())
    folder = Path(str(resources.files("undeleted")))
    for file in sorted(folder.rglob("*.py")):
        digest.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def machine() -> Json:
    """Facts that differ between machines, and nothing else."""
    return {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()} | {
        "libraries": libraries()
    }


def libraries() -> dict[str, str]:
    return {name: metadata.version(name) for name in LIBRARIES}


def _read(path: Path) -> Json:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError):
        raise BadFile(str(path), "is not a report of undeleted.", REMEDY) from None
    if not isinstance(kept, dict) or not {"claims", "seconds", "code"} <= kept.keys():
        raise BadFile(str(path), "is not a report of undeleted.", REMEDY)
    return kept


def _begin(folder: Path) -> None:
    """Create the folder and check that it is writable, before the work starts."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(folder / ".begun", "")
        (folder / ".begun").unlink()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise BadFile(str(folder), f"cannot be written ({why}).", "Name another --out.") from None


def _replace(path: Path, text: str) -> None:
    with atomic(path) as file:
        file.write(text)
