"""One bit for every receipt that could be issued: whether somebody has left with it.

    chunk       32,320 bits, and a keyed mark of them: together they fill a page of 4096 bytes
    capacity    public, and chosen before anybody came: bits tell how many have left, and not how many came

In a table that grows every tick has chunks of its own, for the people of its batch.
"""

from collections.abc import Iterable, Mapping

CHUNK_BYTES = 4040
BITS = 8 * CHUNK_BYTES
MOST = 10**9  # serials fit into 32 bits, and their order into memory


def chunks_for(capacity: int) -> int:
    """How many chunks so many receipts need."""
    return -(-capacity // BITS)


def is_set(chunk: bytes | bytearray, serial: int) -> bool:
    """Whether the receipt with this serial is spent."""
    return bool(chunk[serial % BITS // 8] >> (serial % 8) & 1)


def with_bits(chunks: Mapping[int, bytes], serials: Iterable[int], *, spent: bool = True) -> dict[int, bytes]:
    """The bits of chunks, with those of these serials set, or cleared; what follows a chunk is left out."""
    after = {number: bytearray(chunk[:CHUNK_BYTES]) for number, chunk in chunks.items()}
    for serial in serials:
        at, bit = serial % BITS // 8, 1 << serial % 8
        chunk = after[serial // BITS]
        chunk[at] = chunk[at] | bit if spent else chunk[at] & ~bit
    return {number: bytes(chunk) for number, chunk in after.items()}
