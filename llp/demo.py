"""A small grid on real flights and its page: `python -m llp.demo`; options go to its training."""

import runpy
import signal
import sys

from llp import signals


def main() -> None:
    """Train the grid of `experiment=demo`, then report, as their commands do one after the other."""
    signals.exit_at_once()
    given = sys.argv[1:]
    if {"-h", "--help"} & {*given}:
        print("llp demo [outputs_dir=FOLDER] [OPTION=VALUE ...]   (as llp train -m experiment=demo takes them)")
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    folders = [word for word in given if word.startswith("outputs_dir=")]
    for name, arguments in (("train", ["-m", "experiment=demo", *given]), ("report", folders)):
        sys.argv[1:] = arguments
        for number, handler in handlers.items():  # a command that has ended ignores them
            signal.signal(number, handler)
        runpy.run_module(f"llp.{name}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
