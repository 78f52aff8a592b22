"""What a mutant is."""

from typing import NamedTuple

from llp.config.grouping_keys import CONF_DIR

CHECKOUT = CONF_DIR.parent


class Mutant(NamedTuple):
    """One change of one file, and the tests that must notice it.

    Attributes
    ----------
    file : str
        Path in the checkout.
    old, new : str
        A text that stands in it once, and what takes its place.
    tests : str
        Files of tests and options of pytest, with spaces between them; `_or_` stands for ` or ` in an expression.
    survives : str
        Why no test can tell it, where that is so.
    """

    file: str
    old: str
    new: str
    tests: str
    survives: str = ""

    @property
    def name(self) -> str:
        """What is changed, in a line."""
        return f"{self.file}: {' '.join(self.old.split())} -> {' '.join(self.new.split())}"

    def arguments(self) -> list[str]:
        """What pytest is given."""
        words = self.tests.split()
        return [
            word.replace("_or_", " or ") if before == "-k" else word
            for before, word in zip(["", *words], words, strict=False)
        ]

    def changed(self) -> str:
        """The file's text with the change."""
        text = (CHECKOUT / self.file).read_text()
        assert text.count(self.old) == 1, f"{self.name}: stands there {text.count(self.old)} times"
        return text.replace(self.old, self.new)
