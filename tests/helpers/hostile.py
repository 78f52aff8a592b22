"""Files that are meant to do harm."""

import pickle

import yaml

# YAML of a kilobyte whose aliases stand for billions of values
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


class Payload:
    """Makes a file when it is unpickled, or called."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return open, (str(self.marker), "w")


class Trap:
    """A pickle and a module that make a marker where one of them is called, which a text may name."""

    def __init__(self, folder, monkeypatch):
        self.marker, self.pickled = folder / "marker", folder / "payload.pkl"
        self.pickled.write_bytes(pickle.dumps(Payload(self.marker)))
        (folder / "payload.py").write_text(f"open({str(self.marker)!r}, 'w')\nclass Model: pass\n")
        monkeypatch.syspath_prepend(folder)

    def in_yaml(self, content):
        """A config as text, in which MARKER and PICKLE are the files."""
        return yaml.safe_dump(content).replace("MARKER", str(self.marker)).replace("PICKLE", str(self.pickled))
