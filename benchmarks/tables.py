"""Turn benchmark output into pages of the docs; each page has its file in `pages/`.

python benchmarks/tables.py            copy benchmarks/out/*.json to docs/results, write the pages
python benchmarks/tables.py --check    fail if a page does not match docs/results
"""

import shutil
import sys
from pathlib import Path

from pages import accuracy, audited, definitions, growing, models, serving, sizing, synthetic, why_not
from pages._tables import RESULTS

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
PAGES = {
    "measured/accuracy.md": accuracy.page,
    "measured/definitions.md": definitions.page,
    "measured/audited.md": audited.page,
    "measured/models.md": models.page,
    "measured/sizing.md": sizing.page,
    "measured/serving.md": serving.page,
    "measured/growing.md": growing.page,
    "measured/synthetic.md": synthetic.page,
    "explanation/why-not.md": why_not.page,
}
KEPT = (
    "sum_error",
    "median_rank_error",
    "survey",
    "third_party",
    "false_alarms",
    "accuracy",
    "forgetting",
    "engines",
    "sizing",
    "delete_postgres",
    "serve",
    "arrivals",
    "growing_store",
    "growing_year",
    "growing_year_postgres",
    "retain",
    "group_by",
    "synthetic",
)


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        stale = [name for name, page in PAGES.items() if (DOCS / name).read_text(encoding="utf-8") != page()]
        for name in stale:
            print(f"docs/{name} does not match docs/results; run benchmarks/tables.py", file=sys.stderr)
        return int(bool(stale))
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in KEPT:
        source = HERE / "out" / f"{name}.json"
        if source.exists():
            shutil.copy(source, RESULTS / source.name)
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
