"""A vector index with removal: usearch, observed by the nearest neighbours of a few public points."""

import numpy as np
from usearch.index import Index

QUERIES = np.array([[x, y] for x in (-0.5, 0.0, 0.5) for y in (-0.5, 0.0, 0.5)], dtype=np.float32)


class Neighbours:
    """Publishes the distance from each public point to its nearest neighbour."""

    columns = {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}

    def start(self, records, seed):
        self.keys = {record["id"]: key for key, record in enumerate(records)}
        points = np.array([[record["x"], record["y"]] for record in records], dtype=np.float32)
        self.index = Index(ndim=2, metric="l2sq", dtype="f32")
        self.index.add(np.arange(len(points)), points)
        return self.look()

    def delete(self, ids):
        for name in ids:
            self.index.remove(self.keys.pop(name))
        return self.look()

    def look(self):
        return [float(self.index.search(point, 1).distances[0]) for point in QUERIES]
