"""The layout of a raw file: its separator and the order of its columns, by its first lines; no name may be unknown."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from llp.datasets.reading.files import Dialect, Field
from llp.errors import InputError

SEPARATORS = {b"\t": "tab", b",": "comma", b";": "semicolon", b"|": "bar"}
SAMPLE = 100  # lines that tell a file's separator
NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")  # as polars reads one
ROW_NUMBER = re.compile(r"|id|rowid|index|rownumbers?|rownames?|unnamed0?|level0")  # names of such a column
BY_PLACE = re.compile(r"(c|col|column|field|f|v|x|)(\d+)")  # names that only count the columns
ROW = "(row)"


@dataclass(frozen=True)
class Layout:
    """A raw format; `spellings` are patterns of other names in lower-case letters and digits, with the name of each."""

    dataset: str  # as in `dataset=NAME`
    fields: tuple[Field, ...]  # in their order where a file has no header
    spellings: dict[str, str]
    others: dict[int, str]  # numbers of columns of other known formats, and what they are
    keeps: str = "lines"  # which lines become rows
    label: tuple[str, ...] = ()  # columns that tell the label
    unused: tuple[str, ...] = ()  # further columns of which nothing is made
    may_lack: tuple[str, ...] = ()  # may be absent, are not read; without a header the label's are, all or none
    names: dict[str, Field] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", {f.name: f for f in self.fields})

    @property
    def in_order(self) -> str:
        """The columns in short."""
        return f"{self.fields[0].name}, {self.fields[1].name}, ..., {self.fields[-1].name}"

    @property
    def orders(self) -> dict[int, tuple[Field, ...]]:
        """By their number, the columns of a file without a header in their order."""
        orders = {len(self.fields): self.fields}
        if self.may_lack:
            unlabelled = tuple(f for f in self.fields if f.name not in self.label)
            orders[len(unlabelled)] = unlabelled
        return orders

    @property
    def widths(self) -> str:
        """The number of columns of a file, in words."""
        with_all, *fewer = self.orders
        without = "".join(f", or {n} without {' and '.join(self.label)}" for n in fewer)
        return f"{with_all} ({self.in_order}){without}"

    def of_new_rows(self) -> Self:
        """The format of rows that need no label: it may be absent, and whatever stands in its place fits."""
        may_lack = (*self.label, *self.unused)
        fields = tuple(Field(f.name, "text") if f.name in may_lack else f for f in self.fields)
        new = replace(self, fields=fields, may_lack=may_lack)
        return replace(new, others={n: what for n, what in self.others.items() if n not in new.orders})


def detect(file: str, text: bytes, layout: Layout) -> Dialect:
    """The dialect of a file from its first lines; refuses another dataset's number of columns, or names."""
    lines, orders = text.split(b"\n", SAMPLE)[:SAMPLE], layout.orders
    for separator in SEPARATORS:
        order = orders.get(len(_split(lines[0], separator)))
        if order and _counts_columns(file, lines[0], separator, layout):
            return Dialect(separator, order, header=tuple(_split(lines[0], separator)))
        names = _columns(lines[0], separator, layout) if _is_header(lines[0], separator, layout) else []
        if len(names) in orders or any(name in layout.names for name in names):
            _check_names(file, names, layout)
            counts = Counter(line.count(separator) for line in lines[1:])
            if counts[len(names)] > counts[len(names) - 1]:
                names = ["", *names]  # R leaves the column of the rows' names unnamed
            fields = (layout.names.get(name, Field(f"(row {i})", "text")) for i, name in enumerate(names))
            return Dialect(separator, tuple(fields), header=tuple(_split(lines[0], separator)))
    for separator in SEPARATORS:
        for number, line in enumerate(lines[1:], start=2):  # what stands above names would be read by position
            named = _is_header(line, separator, layout) and {*_columns(line, separator, layout)} & {*layout.names}
            if named:
                raise InputError(
                    f"{file}, line {number} names the columns: only a file's first line may; remove what is above."
                )
        counts = Counter(line.count(separator) + 1 for line in lines)
        width = max(orders, key=lambda n: counts[n])
        if counts[width]:
            return Dialect(separator, orders[width], header=None)
    separator, found = max(((s, lines[0].count(s) + 1) for s in SEPARATORS), key=lambda pair: pair[1])
    other = f"; that is how {layout.others[found]} looks" if found in layout.others else ""
    raise InputError(
        f"{file}, line 1, column {min(found, len(layout.fields)) + 1}: {found} {SEPARATORS[separator]}-separated "
        f"column(s), {layout.dataset} has {layout.widths}{other}."
    )


def other_file(text: bytes, layout: Layout) -> str | None:
    """Name the other file that this is, by its first line: one with fewer columns, or a header without the label."""
    line = text.partition(b"\n")[0]
    if line.lower().startswith(b"id,predicted"):
        return "an example of Kaggle's submissions"
    for separator in SEPARATORS:
        names = set(_columns(line, separator, layout))
        if set(layout.names) - names - set(layout.may_lack) == {layout.fields[0].name}:
            return f"no column {layout.fields[0].name}"
        if line.count(separator) + 1 in layout.others:
            return layout.others[line.count(separator) + 1]
    return None


def _split(line: bytes, separator: bytes) -> list[str]:
    return [value.strip().strip('"').strip() for value in line.decode(errors="replace").split(separator.decode())]


def _columns(line: bytes, separator: bytes, layout: Layout) -> list[str]:
    """The columns that a line's values name; a value that names none stays as it is."""
    known = {_plain(name): name for name in layout.names}
    names, numbered = [], []
    for i, value in enumerate(_split(line, separator)):
        plain = _plain(value)
        name = ROW if ROW_NUMBER.fullmatch(plain) else known.get(plain, value)
        for pattern, template in layout.spellings.items():
            if name == value and (match := re.fullmatch(pattern, plain)):
                name = template
                if match.groups():
                    numbered.append((template, int(match[1]), i))
        names.append(name)
    _number(names, numbered, layout)
    return names


def _number(names: list[str], numbered: Sequence[tuple[str, int, int]], layout: Layout) -> None:
    """Fill in the numbers of `names`; those that go on from other columns, or begin with 0, begin with 1."""
    for template in {template for template, _, _ in numbered}:
        of_it = sorted((number, place) for other, number, place in numbered if other == template)
        whole = sum(bool(re.fullmatch(template.replace("{}", r"\d+"), name)) for name in layout.names)
        first = of_it[0][0] if [n for n, _ in of_it] == [*range(of_it[0][0], of_it[0][0] + whole)] else 1
        for number, place in of_it:
            names[place] = template.format(number - first + 1)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _is_header(line: bytes, separator: bytes, layout: Layout) -> bool:
    """Whether a line's values are names: most of the format's, or most are no data and none but the first empty."""
    values = [value.strip().strip(b'"') for value in line.split(separator)]
    if 2 * sum(name in layout.names for name in _columns(line, separator, layout)) > len(layout.names):
        return True
    if len(values) > 1 and all(values[1:]):
        numbers = [bool(NUMBER.fullmatch(v) or re.fullmatch(rb"-?\d+|[0-9a-f]{8}|[0-9A-F]{32}", v)) for v in values]
        return 2 * sum(numbers) < sum(f.kind != "text" for f in layout.fields)
    return False


def _counts_columns(file: str, line: bytes, separator: bytes, layout: Layout) -> bool:
    """Whether a line numbers the columns in their order, as data frames do; refuses another order, or gaps."""
    values = _split(line, separator)
    found = [(match[1], int(match[2])) for value in values if (match := BY_PLACE.fullmatch(_plain(value)))]
    prefixes, numbers = {prefix for prefix, _ in found}, [number for _, number in found]
    if len(prefixes) == 1 and numbers in ([*range(len(values))], [*range(1, len(values) + 1)]):
        return True
    blank = len(values) - len(found) == values.count("")
    slips = len(found) - len(set(numbers)) <= 1  # one may stand twice
    if blank and slips and len(prefixes) == 1 and 2 * len(found) > len(values) and max(numbers) < 2 * len(values):
        raise InputError(
            f"{file}, line 1 numbers the columns, not from 0 or 1 in their order: name the columns {layout.in_order}, "
            "or remove the line if they are."
        )
    return False


def _check_names(file: str, names: Sequence[str], layout: Layout) -> None:
    unknown = [name for name in names if name not in layout.names and name != ROW]
    missing = [name for name in layout.names if name not in names and name not in layout.may_lack]
    twice = [name for name, count in Counter(names).items() if count > 1 and name != ROW]
    if unknown:
        problem = f"names {unknown[0]!r}, which is no column of {layout.dataset}"
    elif missing:
        unlabelled = " (the unlabelled test file has none)" if missing[0] == layout.fields[0].name else ""
        problem = f"names no column {missing[0]}{unlabelled}"
    elif twice:
        problem = f"names {twice[0]} twice"
    else:
        return
    raise InputError(f"{file}, line 1 {problem}: name the columns {layout.in_order}, or remove the line if they are.")
