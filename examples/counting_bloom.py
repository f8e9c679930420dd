"""A sketch with removal: pyprobables' counting Bloom filter, with all counters published."""

from probables import CountingBloomFilter

WORDS = [f"word{i}" for i in range(40)]


class Sketch:
    """Publishes every counter.  The next counters follow from these and the deleted word."""

    columns = {"word": WORDS}

    def start(self, records, seed):
        self.words = {record["id"]: record["word"] for record in records}
        self.sketch = CountingBloomFilter(est_elements=20, false_positive_rate=0.2)
        for word in self.words.values():
            self.sketch.add(word)
        return self.look()

    def delete(self, ids):
        for name in ids:
            self.sketch.remove(self.words.pop(name))
        return self.look()

    def look(self):
        return list(self.sketch.bloom)
