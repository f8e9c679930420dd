"""Synthetic rows from dpmm's MST and AIM; `synthetic.py` runs it in an environment of its own.

It reads a file of codes, the sizes of the columns, a budget and a seed, and writes rows of codes.
"""

import sys

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM
from dpmm.pipelines.base import GenerativePipeline

KINDS = {"MST": MSTGM, "AIM": AIMGM}


def main() -> None:
    kind, given, written, epsilon, delta, seed = sys.argv[1:]
    with np.load(given) as file:
        codes, sizes = file["codes"], file["sizes"].tolist()
    names = [f"c{i}" for i in range(len(sizes))]
    frame = pd.DataFrame(codes, columns=names)
    model = KINDS[kind](epsilon=float(epsilon), delta=float(delta))
    pipeline = GenerativePipeline(gen=model)
    pipeline.fit(frame, domain=dict(zip(names, sizes, strict=True)), random_state=int(seed))
    rows = pipeline.generate(n_records=len(frame), random_state=int(seed))
    np.save(written, rows[names].to_numpy().astype(np.int64))


if __name__ == "__main__":
    main()
