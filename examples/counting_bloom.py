"""A sketch that removes: pyprobables' counting Bloom filter, published whole."""

from probables import CountingBloomFilter

WORDS = [f"word{i}" for i in range(40)]


class Sketch:
    """What is published: every counter.  The next ones follow from these and the word that leaves."""

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
