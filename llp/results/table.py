"""A table of text: built once, then printed, or written as Markdown, LaTeX or CSV."""

import csv
import io
import math
import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.segment import Segments
from rich.table import Table as RichTable

if TYPE_CHECKING:
    import polars as pl

MISSING = "–"

_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "[": "{[}",  # behind the end of a row it would be that row's optional argument, and a star likewise
        "*": "{*}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "–": "--",
        "−": "$-$",
        "×": r"$\times$",
        "≥": r"$\ge$",
        "≤": r"$\le$",
        "<": r"$<$",
        ">": r"$>$",
        "χ": r"$\chi$",
        "²": r"$^2$",
        "ε": r"$\varepsilon$",
        "∞": r"$\infty$",
        "→": r"$\rightarrow$",
    }
)
_FORMULA = r"^[=+@\t\r-]"
_NUMBER = r"[-+](\d+\.?\d*(e[-+]?\d+)?|inf|nan)"
_WIDE = 10_000  # characters: no table is wider
_LONG = 40  # rows: more do not fit on a page


@dataclass(frozen=True)
class Cell:
    """A table's cell."""

    text: str
    best: bool = False  # of its row
    value: float | None = None  # to sort by
    cell: int | None = None  # number of the summarised cell that it shows

    @classmethod
    def number(cls, value: float | None, form: str) -> "Cell":
        """A number as `form` shows it; a dash where it is undefined; one without bound sorts as the largest.

        >>> Cell.number(0.5, ".2f").text, Cell.number(None, ".2f").text, Cell.number(math.inf, ".2f").text
        ('0.50', '–', '∞')
        """
        if value is None or math.isnan(value):
            return cls(MISSING)
        if math.isinf(value):
            return cls("∞" if value > 0 else "−∞", value=math.copysign(sys.float_info.max, value))
        return cls(format(value, form), value=float(value))


@dataclass(frozen=True)
class Table:
    """A table of text."""

    title: str
    columns: list[str]  # the first holds the names of the rows
    rows: list[list[Cell]]  # as many cells as columns each
    notes: list[str] = field(default_factory=list)  # what a reader must know about the numbers


def to_markdown(table: Table) -> str:
    """Write a table as Markdown, the best of a row in bold."""
    lines = [[*map(as_markdown, table.columns)], ["---", *["---:"] * (len(table.columns) - 1)]]
    for row in table.rows:
        texts = [(as_markdown(cell.text), cell.best) for cell in row]
        lines.append([f"**{text}**" if best else text for text, best in texts])
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = "".join(f"- {as_markdown(note)}\n" for note in table.notes)
    return f"### {as_markdown(table.title)}\n\n{body}\n" + (f"\n{notes}" if notes else "")


def as_markdown(text: str) -> str:
    r"""Text that Markdown shows as it is, in one line.

    >>> print(as_markdown("month_dest, _a|b* <i>"))
    month_dest, \_a\|b\* \<i>
    """
    return re.sub(r"([\\`*\[\]<|$#~]|(?<!\w)_|_(?!\w)|&(?=#?\w+;))", r"\\\1", " ".join(text.split()))


def to_latex(table: Table) -> str:
    """Write a table for LaTeX with booktabs, the best of a row in bold; a long one as a longtable."""
    header = " & ".join(map(_latex, table.columns)) + r" \\"
    texts = ([rf"\textbf{{{_latex(one.text)}}}" if one.best else _latex(one.text) for one in row] for row in table.rows)
    body = "\n".join(" & ".join(row) + r" \\" for row in texts)
    align = "l" + "r" * (len(table.columns) - 1)
    notes = "".join(f"% {' '.join(note.split())}\n" for note in table.notes)
    if len(table.rows) > _LONG:
        return (
            f"{notes}\\begin{{longtable}}{{{align}}}\n\\caption{{{_latex(table.title)}}} \\\\\n\\toprule\n{header}\n"
            f"\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n{body}\n\\end{{longtable}}\n"
        )
    return (
        f"{notes}\\begin{{table}}\n\\centering\n\\caption{{{_latex(table.title)}}}\n\\begin{{tabular}}{{{align}}}\n"
        f"\\toprule\n{header}\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def _latex(text: str) -> str:
    return text.translate(_LATEX)


def to_csv(table: Table) -> str:
    """Write a table as CSV, as it is shown; numbers to compute with are in results.csv."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_no_formula, table.columns))
    writer.writerows(
        [cell.text if cell.value is not None else _no_formula(cell.text) for cell in row] for row in table.rows
    )
    return text.getvalue()


def frame_to_csv(frame: "pl.DataFrame") -> str:
    """Write a data frame as CSV whose texts a spreadsheet does not take for formulas; numbers stay as they are."""
    import polars as pl

    texts = pl.selectors.string()
    safe = frame.with_columns(pl.when(texts.str.contains(_FORMULA)).then("'" + texts).otherwise(texts).name.keep())
    return safe.rename(_no_formula).write_csv()


def _no_formula(text: str) -> str:
    """A text with an apostrophe before what a spreadsheet would compute.

    >>> _no_formula("=1+1"), _no_formula("-1.5e3"), _no_formula("C1_C2")
    ("'=1+1", '-1.5e3', 'C1_C2')
    """
    return f"'{text}" if re.search(_FORMULA, text) and not re.fullmatch(_NUMBER, text) else text


def show(table: Table, console: Console) -> None:
    """Print a table; one that is wider than the terminal keeps its lines whole."""
    shown = RichTable(header_style="bold cyan")
    for number, title in enumerate(table.columns):
        shown.add_column(escape(title), justify="right" if number else "left", no_wrap=True)
    for row in table.rows:
        shown.add_row(*(f"[bold green]{escape(cell.text)} *[/]" if cell.best else escape(cell.text) for cell in row))
    console.print(f"[bold]{escape(table.title)}[/]", highlight=False)
    wide = console.options.update(max_width=_WIDE)
    console.print(Segments(list(console.render(shown, wide))), crop=False, soft_wrap=True)
    for note in table.notes:
        console.print(f"[dim]{escape(note)}[/]", highlight=False)
    console.print()
