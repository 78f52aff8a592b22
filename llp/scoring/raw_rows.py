"""Raw lines scored by runs on Criteo's tables: coded as the table's own lines were, with their label or without."""

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import polars as pl

from llp.data.table import InstanceTable
from llp.datasets.criteo_ctr import CtrCoder
from llp.datasets.criteo_sscl import SsclCoder
from llp.datasets.reading.files import Block, Files
from llp.datasets.reading.find import find_files
from llp.datasets.reading.layout import other_file
from llp.datasets.reading.lines import all_blocks, parse
from llp.datasets.reading.records import BadLines
from llp.errors import InputError
from llp.scoring.rows import EncodedRows

log = logging.getLogger(__name__)


RawCoder = CtrCoder | SsclCoder
CODERS: dict[str, type[RawCoder]] = {
    "llp.datasets.criteo_ctr.prepare": CtrCoder,
    "llp.datasets.criteo_sscl.prepare": SsclCoder,
}
"""By what made a table, what codes its lines."""


def raw_coder(table: InstanceTable) -> RawCoder | None:
    """The coder of a table's raw lines; None where it was made of others."""
    coder = CODERS.get(str(table.schema.made_by.get("_target_")))
    return None if coder is None else coder.of_table(table)


class RawRows:
    """All lines of raw files in the format of a table's, in order, none left out; `on_read` is given bytes read."""

    def __init__(self, names: Sequence[str], coder: RawCoder, on_read: Callable[[int], None]) -> None:
        self._names = names
        self._coder = coder
        found = find_files(names, option="files")
        self.paths = [file.path for file in found]
        self._layout = coder.layout.of_new_rows()
        self._files = Files(found, on_read, lambda text: other_file(text, self._layout))
        self._bad_lines = BadLines("stop", may_skip=False)
        self._outside: list[int] = []
        self.id_schema = pl.Schema()
        self.total = self._files.total_bytes

    def blocks(self) -> Iterator[Callable[[], EncodedRows]]:
        """Functions that encode the blocks, called in threads; a wrong line is refused when it is coded."""
        total = 0
        for block in all_blocks(self._files, self._layout):
            lines = block.records.count(b"\n")
            total += lines
            if block.first_line == 1 and block.dialect.header is None:
                self._tell_order(block)
            if lines:
                yield partial(self._encoded, block)
        if total == 0:
            raise InputError(
                f"Invalid files={','.join(self._names)}: expected lines of {self._layout.dataset}, but there are only "
                "names of columns"
            )

    def tell(self) -> None:
        """Report numbers outside the bins of the table, once all rows are scored."""
        if outside := sum(self._outside):
            log.warning(
                "%s number(s) lie below or above all those of the table: each was taken as the nearest of them",
                f"{outside:,}",
            )

    def _tell_order(self, block: Block) -> None:
        fields, without = block.dialect.fields, " and ".join(self._layout.label)
        if len(fields) < len(self._layout.fields):
            first, last = fields[0].name, fields[-1].name
            log.info("%s: its %d columns are %s to %s, without %s", block.file, len(fields), first, last, without)

    def _encoded(self, block: Block) -> EncodedRows:
        frame, messages = parse(block, self._layout)
        self._bad_lines.add(messages)
        lines = self._coder.encode(frame.select(self._coder.features))
        self._outside.append(lines.outside)
        return EncodedRows(pl.DataFrame(), lines.codes, lines.numbers.astype(np.float32, copy=False))
