"""The code blocks of the project's Markdown pages, and what the HTML comments above them say.

`<!-- file: mylab/gap.py -->` above a block: it is that file's content.
`<!-- not run: REASON -->` above a block: the tests leave it out, and count it.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from llp.config.grouping_keys import CONF_DIR

CHECKOUT = CONF_DIR.parent
PAGES = sorted(str(path.relative_to(CHECKOUT)) for path in [CHECKOUT / "README.md", *CHECKOUT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^(?:<!-- (file|not run): (.+?) -->\n\n?)?```(\w*)\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page; `file` and `not_run` are what the comment above it says."""

    language: str
    text: str
    file: str | None
    not_run: str | None

    def commands(self):
        """Lists of words of a shell block."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [words for words in (shlex.split(line, comments=True) for line in lines) if words]


def blocks_of(page):
    """The fenced blocks of a page, in order."""
    text = (CHECKOUT / page).read_text()
    found = [
        Block(
            match[3],
            match[4],
            match[2] if match[1] == "file" else None,
            match[2] if match[1] == "not run" else None,
        )
        for match in BLOCK.finditer(text)
    ]
    assert 2 * len(found) == len(re.findall(r"^ *```", text, re.M)), f"{page}: a block that the tests cannot read"
    return found


def links_of(page):
    """Places in the checkout that a page links to."""
    names = re.findall(r"\]\((?!http)([^)#]+)\)", (CHECKOUT / page).read_text())
    return [(CHECKOUT / page).parent / name for name in names]


def write_files(page, home: Path):
    """Write the files that a page shows under a folder."""
    for block in blocks_of(page):
        if block.file:
            path = home / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
