"""The demo's last scene: publish, show, delete from and check a table in a temporary folder."""

import io
import tempfile
from contextlib import redirect_stdout
from pathlib import Path


def daily_use(seed: int) -> list[tuple[str, str]]:
    """Return each command with its output; secure noise makes the numbers differ between runs."""
    from undeleted.curate.spec.example import MANY, SPEC, write_people
    from undeleted.interfaces.cli import run

    said = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_people(folder / "people.csv", seed)
        (folder / "spec.toml").write_text(SPEC, encoding="utf-8")
        (folder / "leavers.txt").write_text(
            "".join(f"p{i:05d}\n" for i in range(0, MANY, 100)), encoding="utf-8"
        )
        store = ["--store", str(folder / "undeleted.db")]
        for shown, arguments in (
            (
                "init people.csv --id person --out draft.toml",
                ["init", str(folder / "people.csv"), "--id", "person", "--out", str(folder / "draft.toml")],
            ),
            ("publish spec.toml", ["publish", str(folder / "spec.toml"), *store]),
            ("show", ["show", *store]),
            ("delete --from leavers.txt", ["delete", "--from", str(folder / "leavers.txt"), *store]),
            ("show", ["show", *store]),
            ("status", ["status", *store]),
            ("check", ["check", *store]),
        ):
            printed = io.StringIO()
            with redirect_stdout(printed):
                code = run(arguments)
            assert code == 0, (shown, code)
            said.append((f"undeleted {shown}", printed.getvalue().replace(f"{folder}/", "")))
    return said
