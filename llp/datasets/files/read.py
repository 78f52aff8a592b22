"""Own files of any format as a stream of frames with the same columns, a few blocks in memory."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import chain
from pathlib import Path
from typing import Literal

import polars as pl
from rich.progress import Progress

from llp.data.table_writer import CHUNK_ROWS
from llp.datasets.files.kinds import check_names
from llp.datasets.files.options import FilesOptions, Roles
from llp.datasets.files.typed import common_types, scan, typed_format
from llp.datasets.ordered_map import ordered_map
from llp.datasets.reading.arff import quote_of, read_head
from llp.datasets.reading.files import Block, Dialect, Field, Files, Opened
from llp.datasets.reading.find import DataFile
from llp.datasets.reading.options import Reading
from llp.datasets.reading.records import BadLines, detect, parse
from llp.datasets.reading.stage import Parsed, Staged, write_parts
from llp.datasets.reading.texts import text_of, whole_records, without_comments
from llp.datasets.reading.unpack import Content, damaged
from llp.errors import InputError

log = logging.getLogger(__name__)

ARFF_COMMENT = "%"
RAW_ROWS = 2**16  # of a frame: those that are scored at once


@dataclass
class FilesReader:
    """Reads own files, one after another."""

    files: Files
    reading: Reading
    bad_lines: BadLines
    choose: Callable[[str, list[str]], list[str]]  # from the first text's name and columns to those that are read
    ignored: tuple[str, ...] = ()  # columns that only some of the files may have
    may_lack: str | None = None  # a column that a file without a header may lack, as new rows their label
    raw: bool = False  # frames hold what stands in the files, not `normalised`, and have no checksum
    columns: list[str] = field(default_factory=list)  # of the first text, once it is opened
    wanted: list[str] = field(default_factory=list)  # those of them that are read
    first: str = ""  # the first text's name
    seen: set[str] = field(default_factory=set)  # names of all texts' columns
    starts: list[tuple[str, int]] = field(default_factory=list)  # texts begun, each with the rows read before it
    repeated_headers: int = 0  # that stood among the records, and were left out
    _records: Counter[str] = field(default_factory=Counter)

    def frames(self) -> Iterator[pl.DataFrame]:
        """All records in order, in frames of the first file's columns, which the others have too."""
        for parsed in ordered_map(lambda parse: parse(), self.blocks()):
            self.add(parsed)
            if parsed.frame.height:
                yield parsed.frame
        self.finish()

    def blocks(self) -> Iterator[Callable[[], Parsed]]:
        """Functions that parse the blocks of all files, perhaps in threads; `add` takes in what they return."""
        types = common_types(
            [file for file in self.files.files if file.is_data and typed_format(file.path)], self.ignored
        )
        for file in self.files:
            if typed_format(file.path):
                yield from self._typed(file, types)
                continue
            for block in self.files.blocks(file, self._opened):
                self._same_columns(block.file, block.dialect.columns, file)
                yield partial(self._text, block, file)

    def add(self, parsed: Parsed) -> None:
        """Take in what was found in a block."""
        self.bad_lines.add(parsed.messages)
        if not self._records[parsed.file]:
            self.starts.append((parsed.file, self._records.total()))
        self._records[parsed.file] += parsed.records
        self.repeated_headers += parsed.repeated_headers

    def finish(self) -> None:
        """Refuse files without a record, once all are read; those of a folder may have none."""
        named = {str(file.path) for file in self.files.files if file.named}
        for name, records in self._records.items():
            if not records and (not self._records.total() or name in named):
                raise InputError(f"{name} holds no record.")

    def _typed(self, file: DataFile, types: Mapping[str, pl.DataType]) -> Iterator[Callable[[], Parsed]]:
        path, name = file.path, str(file.path)
        if not self.raw:
            self.files.read_whole(file)
        try:
            lazy = scan(path)
            self._same_columns(name, lazy.collect_schema().names(), file)
            kept = lazy.select(pl.col([one for one in self.wanted if one in types]))
            rows = lazy.select(pl.len()).collect().item()
            at_once = RAW_ROWS if self.raw else CHUNK_ROWS
            for frame in kept.collect_batches(chunk_size=at_once, maintain_order=True):
                yield partial(self._finished, frame.cast({one: types[one] for one in frame.columns}), file, name, [])
                if self.raw:
                    self.files.tell(file, path.stat().st_size * frame.height // rows)
        except pl.exceptions.PolarsError as error:
            raise damaged(path, error) from None

    def _opened(self, content: Content) -> Opened:
        """A text with what tells how it is written: an ARFF file's head, or its first lines."""
        name, reading = content.name, self.reading
        text = text_of(content, reading.encoding, arff=True)
        if reduce(str.removesuffix, (".gz", ".zst", ".zip"), name.lower()).endswith(".arff"):
            columns, first_line, rest = read_head(name, text)
            quote = quote_of(rest)
            data = without_comments(chain([rest], text), ARFF_COMMENT, quote)
            dialect = Dialect(b",", tuple(map(Field, columns)), None, quote)
            return Opened(whole_records(name, data, quote), lambda text: dialect, first_line)
        own_quote = None if reading.quote == "none" else reading.quote
        records = whole_records(name, without_comments(text, reading.comment, own_quote), own_quote)
        choice = self.bad_lines.may_skip
        return Opened(records, lambda text: detect(name, text, reading, self.may_lack, has_options=choice))

    def _text(self, block: Block, file: DataFile) -> Parsed:
        frame, repeated_headers, messages = parse(block)
        return self._finished(frame, file, block.file, messages, repeated_headers)

    def _finished(
        self, frame: pl.DataFrame, file: DataFile, name: str, messages: list[str], repeated_headers: int = 0
    ) -> Parsed:
        of_folders = {column: value for column, value in file.partition.items() if column not in frame.columns}
        frame = frame.with_columns(pl.lit(value, pl.String).alias(column) for column, value in of_folders.items())
        frame = frame.select(pl.col(self.wanted))
        kept = frame if self.raw else normalised(frame, self.reading)
        return Parsed(kept, name, frame.height, messages, repeated_headers)

    def _same_columns(self, name: str, in_file: Sequence[str], file: DataFile) -> None:
        names = [*in_file, *(column for column in file.partition if column not in in_file)]
        if not self.columns:
            self.first, self.columns, self.wanted = name, names, self.choose(name, names)
            if file.partition:
                log.info("columns of the folders' names: %s", ", ".join(file.partition))
        self.seen.update(names)
        self._records.setdefault(name, 0)
        first = self.first
        if missing := [one for one in self.wanted if one not in names]:
            raise InputError(f"{name} has no column {missing[0]!r}, which {first} has; it has {', '.join(names)}")
        if further := [one for one in names if one not in self.columns and one not in self.ignored]:
            raise InputError(f"{name} has the column {further[0]!r}, which {first} lacks")


def normalised(frame: pl.DataFrame, reading: Reading) -> pl.DataFrame:
    """Text without spaces around it, null where missing, durations in seconds; refuses lists, structures, bytes."""
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


PANDAS_INDEX = re.compile(r"__index_level_\d+__|Unnamed: 0")


def stage_files(
    found: Mapping[str, Sequence[DataFile]], of_rows: Mapping[str, Roles], options: FilesOptions, *,
    errors: Literal["stop", "skip"], folder: Path, progress: Progress,
) -> dict[str, Staged]:  # fmt: skip
    """The rows of each option's files, read into Arrow files."""
    staged: dict[str, Staged] = {}
    readers: list[FilesReader] = []
    known: dict[tuple[object, ...], str] = {}
    for option, of_option in found.items():
        task = progress.add_task(f"read {option}", total=None, detail="")
        files = Files(of_option, partial(progress.advance, task), known=known)
        progress.update(task, total=files.total_bytes)
        choose = partial(_chosen, own=of_rows[option], roles=options.roles, train=readers[0] if readers else None)
        bad_lines = BadLines(errors)
        reader = FilesReader(files, options.reading, bad_lines, choose, ignored=options.roles.ignore)
        (folder / option).mkdir()
        parts, rows = write_parts(reader.blocks(), reader.add, folder=folder / option, progress=progress, task=task)
        reader.finish()
        if bad_lines.count:
            log.warning("%d record(s) left out, such as: %s", bad_lines.count, "; ".join(bad_lines.shown))
        if reader.repeated_headers:
            log.warning("%d repeated header(s) left out", reader.repeated_headers)
        staged[option] = Staged(parts, rows, bad_lines, files.source(), reader.repeated_headers, reader.starts)
        readers.append(reader)
    seen = set[str]().union(*(reader.seen for reader in readers))
    for name in options.roles.ignore:
        if name not in seen:
            has = ", ".join(readers[0].columns)
            raise InputError(f"Invalid ignore={name}: the files have no such column; they have {has}")
    return staged


def _chosen(name: str, columns: list[str], own: Roles, roles: Roles, train: FilesReader | None) -> list[str]:
    """Columns of a file that are read: not the ignored ones, pandas' index, nor what plays no part in this file."""
    check_names(columns, own)
    named = {name for _, name in roles.named}
    index = [one for one in columns if PANDAS_INDEX.fullmatch(one) and one not in named]
    if index:
        log.warning("%s is an index that pandas wrote: left out; numeric=[%s] takes it in", index[0], index[0])
    left_out = {*roles.ignore, *(set(roles.not_features) - set(own.not_features))}
    if own.bag_column is None and train is None:  # beside a report, some rows may have their label
        left_out -= {roles.label}
    features = [] if train is None else [one for one in train.wanted if one not in roles.not_features]
    if train is not None and (missing := [one for one in features if one not in columns]):
        raise InputError(f"{name} has no column {missing[0]!r}, which {train.first} has; it has {', '.join(columns)}")
    return [one for one in columns if one not in left_out and one not in index]
