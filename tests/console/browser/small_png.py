"""Make a screenshot small: a PNG with a palette of its commonest colours, as far as a picture of text needs."""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOURS = 256
_TRUE_COLOURS = 2

Colour = tuple[int, int, int]


def small(png: bytes) -> bytes:
    """Return a PNG of 8 bits a channel, without transparency, as one with a palette."""
    chunks = [*_chunks(png)]
    width, height, _, kind = struct.unpack(">IIBB", chunks[0][1][:10])
    depth = 3 if kind == _TRUE_COLOURS else 4
    data = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    lines = _lines(data, width * depth, depth)
    pixels = [[(line[at], line[at + 1], line[at + 2]) for at in range(0, len(line), depth)] for line in lines]
    counts = Counter(colour for line in pixels for colour in line)
    palette = [colour for colour, _ in counts.most_common(_COLOURS)]
    index = {colour: _nearest(colour, palette) for colour in counts}
    rows = b"".join(b"\0" + bytes(index[colour] for colour in line) for line in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    written = [(b"IHDR", header), (b"PLTE", bytes(part for colour in palette for part in colour))]
    written += [(b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    return _SIGNATURE + b"".join(_chunk(name, body) for name, body in written)


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += length + 12


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def _lines(data: bytes, length: int, depth: int) -> Iterator[bytes]:
    """Undo the filter of each line."""
    above = bytes(length)
    for start in range(0, len(data), length + 1):
        line = bytearray(data[start + 1 : start + 1 + length])
        kind = data[start]
        for at in range(length if kind else 0):
            left = line[at - depth] if at >= depth else 0
            corner = above[at - depth] if at >= depth else 0
            line[at] = (line[at] + _foretold(kind, left, above[at], corner)) & 255
        above = bytes(line)
        yield above


def _foretold(kind: int, left: int, above: int, corner: int) -> int:
    if kind < 4:  # nothing, left, above, their mean
        return (0, left, above, (left + above) // 2)[kind]
    guess = left + above - corner
    return min((left, above, corner), key=lambda one: abs(guess - one))


def _nearest(colour: Colour, palette: Sequence[Colour]) -> int:
    return min(range(len(palette)), key=lambda at: sum((a - b) ** 2 for a, b in zip(colour, palette[at], strict=True)))
