"""Own files of any format as a stream of frames with the same columns.

Text (CSV, TSV, ARFF) comes as strings; Parquet and Arrow files bring their types. Then all are alike: text without
spaces around it and null where a value is missing, numbers, dates. Memory holds a few blocks, whatever the rows.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from llp.data.table_writer import CHUNK_ROWS
from llp.datasets.files.arff import quote_of, read_head
from llp.datasets.files.content import OwnFiles
from llp.datasets.files.options import Reading
from llp.datasets.files.text import TextDialect, detect, parse
from llp.datasets.files.text_blocks import blocks, utf8, without_comments
from llp.datasets.ordered_map import ordered_map
from llp.datasets.raw_lines import BadLines
from llp.errors import InputError
from llp.machine import cores

PARQUET, ARROW, FEATHER_1 = b"PAR1", b"ARROW1", b"FEA1"
ARFF_COMMENT = "%"
RAW_ROWS = 2**16  # of a frame: those that are scored at once


@dataclass
class FilesReader:
    """Reads own files, one after another.

    Attributes
    ----------
    files : OwnFiles
        The files.
    reading : Reading
        How text files are written.
    bad_lines : BadLines
        What a wrong record does, and how many there were.
    choose : callable
        Given the names of the first file's columns, says which of them are read.
    may_lack : str or None
        A column that a file without a header may lack, as new rows lack their label.
    raw : bool
        Whether the frames hold what stands in the files, instead of being `normalised`; they have no checksum then.
    columns, wanted : list of str
        Names of the first file's columns, and of those that are read; once it is opened.
    repeated_headers : int
        Headers that stood among the records, and were left out.
    starts : list of (Path, int)
        The files that were begun, each with how many rows were read before it.
    """

    files: OwnFiles
    reading: Reading
    bad_lines: BadLines
    choose: Callable[[list[str]], list[str]]
    may_lack: str | None = None
    raw: bool = False
    columns: list[str] = field(default_factory=list)
    wanted: list[str] = field(default_factory=list)
    repeated_headers: int = 0
    starts: list[tuple[Path, int]] = field(default_factory=list)

    def frames(self) -> Iterator[pl.DataFrame]:
        """All records in order, in frames of the first file's columns.

        Raises
        ------
        InputError
            A file is empty, damaged, of an unknown format, or has other columns than the first.
        """
        rows = 0
        for path in self.files.paths:
            self.starts.append((path, rows))
            for frame in self._file(path):
                rows += frame.height
                yield frame
            if rows == self.starts[-1][1]:
                raise InputError(f"{path} holds no record.")

    def place(self, row: int) -> str:
        """Name the file that a row of the frames, from 0, is of, and which of its records it is."""
        path, start = next(one for one in reversed(self.starts) if one[1] <= row)
        return f"{path}, record {row - start + 1}"

    def _file(self, path: Path) -> Iterator[pl.DataFrame]:
        with path.open("rb") as file:
            magic = file.read(6)
        if magic.startswith((PARQUET, ARROW)):
            yield from self._typed(path, parquet=magic.startswith(PARQUET))
            return
        if magic.startswith(FEATHER_1):
            raise InputError(f"{path} is a Feather file of version 1: write it as Arrow (Feather version 2) or Parquet")
        yield from self._text(path)

    def _typed(self, path: Path, *, parquet: bool) -> Iterator[pl.DataFrame]:
        if not self.raw:
            for _ in self.files.content(path):  # for the checksum and the progress
                pass
        try:
            lazy = (pl.scan_parquet if parquet else pl.scan_ipc)(path, glob=False)
            self._same_columns(path, lazy.collect_schema().names())
            kept = lazy.select(self.wanted)
            rows = lazy.select(pl.len()).collect().item()
            at_once = RAW_ROWS if self.raw else CHUNK_ROWS
            for frame in kept.collect_batches(chunk_size=at_once, maintain_order=True):
                yield self._finished(frame)
                if self.raw:
                    self.files.tell(path.stat().st_size * frame.height // rows)
        except pl.exceptions.PolarsError as error:
            raise InputError(f"{path} is damaged ({str(error).splitlines()[0]}); get it again.") from None

    def _text(self, path: Path) -> Iterator[pl.DataFrame]:
        reading = self.reading
        content = utf8(path, self.files.content(path), reading.encoding)
        first_line = 1
        if _name_without_compression(path).endswith(".arff"):
            columns, first_line, rest = read_head(path, content)
            dialect = TextDialect(columns, ",", quote_of(rest), None)
            content = without_comments(itertools.chain([rest], content), ARFF_COMMENT, dialect.quote)
            texts = blocks(path, content, dialect.quote)
        else:
            quote = None if reading.quote == "none" else reading.quote
            texts = blocks(path, without_comments(content, reading.comment, quote), quote)
            first = next(texts, b"")
            dialect = detect(path, first, reading, self.may_lack)
            texts = itertools.chain([first], texts)
        self._same_columns(path, list(dialect.columns))

        def numbered() -> Iterator[tuple[int, bytes]]:
            line = first_line
            for text in texts:
                yield line, text
                line += text.count(b"\n")

        def parsed(block: tuple[int, bytes]) -> tuple[pl.DataFrame, int, list[str]]:
            frame, headers, messages = parse(path, block[1], block[0], dialect)
            return self._finished(frame.select(self.wanted)), headers, messages

        in_file = 0
        for frame, headers, messages in ordered_map(parsed, numbered(), threads=cores()):
            in_file += headers
            self.bad_lines.add(messages)
            if frame.height:
                yield frame
        self.repeated_headers += max(0, in_file - 1)

    def _finished(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame if self.raw else normalised(frame, self.reading)

    def _same_columns(self, path: Path, names: list[str]) -> None:
        if not self.columns:
            self.columns, self.wanted = names, self.choose(names)
        first = self.files.paths[0]
        if missing := [name for name in self.wanted if name not in names]:
            raise InputError(f"{path} has no column {missing[0]!r}, which {first} has; it has {', '.join(names)}")
        if further := [name for name in names if name not in self.columns]:
            raise InputError(f"{path} has the column {further[0]!r}, which {first} lacks")


def _name_without_compression(path: Path) -> str:
    name = path.name.lower()
    for ending in (".gz", ".zst", ".zip"):
        name = name.removesuffix(ending)
    return name


def normalised(frame: pl.DataFrame, reading: Reading) -> pl.DataFrame:
    """A frame whose text has no spaces around it and null for a missing value, and durations in seconds.

    Raises
    ------
    InputError
        A column holds lists, structures or bytes.
    """
    columns = []
    for name, kind in frame.schema.items():
        x = pl.col(name)
        if isinstance(kind, pl.List | pl.Array | pl.Struct) or kind in (pl.Binary, pl.Object):
            raise InputError(f"column {name!r} holds {kind}: leave it out with ignore=[{name}]")
        if kind == pl.String or isinstance(kind, pl.Categorical | pl.Enum):
            text = x.cast(pl.String).str.strip_chars()
            columns.append(pl.when(text.is_in(["", *reading.missing])).then(None).otherwise(text).alias(name))
        elif kind in (pl.Boolean, pl.Null):
            columns.append(x.cast(pl.String))
        elif kind == pl.Time:  # its text goes without the fractions of seconds when it is cast
            columns.append(x.dt.to_string("%H:%M:%S%.f"))
        elif isinstance(kind, pl.Duration):
            columns.append(x.dt.total_nanoseconds() / 1e9)
        elif kind.is_float():
            columns.append(x.fill_nan(None))
        else:
            columns.append(x)
    return frame.select(columns)
