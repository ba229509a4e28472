"""Files that hold no tensor, told by their first bytes: say what each is and what to do."""

from __future__ import annotations

from pathlib import Path

__all__ = ["refuse_foreign"]

_STACK = (
    "one picture is not a data set; put pictures of the same size into a folder and name the folder"
)
_AS_CSV = "save the table as CSV"
_UNPACK = "unpack it first"
_PARTS = {
    b"\x89PNG\r\n\x1a\n": ("a PNG picture", _STACK),
    b"\xff\xd8\xff": ("a JPEG picture", _STACK),
    b"GIF8": ("a GIF picture", _STACK),
    b"RIFF": ("a WebP picture or a sound or film", "save its numbers with numpy.save"),
    b"%PDF": ("a PDF document", _AS_CSV),
    b"\xd0\xcf\x11\xe0": ("an old Excel or Word file", _AS_CSV),
    b"PAR1": ("a Parquet file", "read it with pandas and save the numbers with numpy.save"),
    b"CDF\x05": ("a NetCDF file of type CDF-5", "convert it with nccopy -k nc4"),
    b"\x1f\x8b": ("a gzip file", _UNPACK),
    b"BZh": ("a bzip2 file", _UNPACK),
    b"\xfd7zXZ\x00": ("an xz file", _UNPACK),
    b"\x28\xb5\x2f\xfd": ("a zstd file", _UNPACK),
    b"\x80": ("a Python pickle, which is never loaded", "save it with numpy.save"),
}
_IN_ARCHIVES = {
    "xl/workbook.xml": ("an Excel file", _AS_CSV),
    "content.xml": ("an OpenDocument file", _AS_CSV),
    "word/document.xml": ("a Word file", _AS_CSV),
    "zarr.json": ("a Zarr store in a ZIP archive", _UNPACK),
    ".zgroup": ("a Zarr store in a ZIP archive", _UNPACK),
    ".zarray": ("a Zarr store in a ZIP archive", _UNPACK),
}


def refuse_foreign(path: Path, head: bytes, members: tuple[str, ...] = ()) -> None:
    """Raise ValueError if the first bytes, or the members of an archive, are of a known kind."""
    # A CSV file may begin with a column called "RIFF".
    is_text = head.isascii() and b"\x00" not in head and not head.startswith(b"%PDF")
    kinds = [kind for start, kind in _PARTS.items() if not is_text and head.startswith(start)]
    kinds += [kind for name, kind in _IN_ARCHIVES.items() if name in members]
    if head.startswith(b"BM") and int.from_bytes(head[6:10], "little") == 0 and b"\x00" in head:
        kinds.append(("a BMP picture", _STACK))
    if kinds:
        what, advice = kinds[0]
        raise ValueError(f"{path}: {what}; {advice}")
