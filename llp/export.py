"""A finished run as files that score elsewhere: `python -m llp.export run=FOLDER out=FOLDER`."""

from llp import signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds

from pathlib import Path

from omegaconf import DictConfig

from llp.config.hydra_main import command_of
from llp.errors import InputError, invalid


@command_of("export")
def main(config: DictConfig) -> None:
    """Export a run and say how exactly it scores."""
    from llp.scoring.export import MODEL, PREPROCESSING, export
    from llp.scoring.trained import TrainedRuns, find_runs

    out = Path(config.out)
    if out.exists() and not out.is_dir():
        raise invalid("out", config.out, "a folder, which is made where it is not there; this is a file", "export")
    runs = find_runs([config.run])
    if len(runs) > 1:
        raise InputError(f"Invalid run={config.run}: {len(runs)} runs are named so, expected one to be exported")
    difference = export(TrainedRuns.open(runs, Path(config.data_dir)), out)
    print(f"{out / MODEL} and {out / PREPROCESSING}: its scores differ by {difference:.1g} at most")


if __name__ == "__main__":
    main()
    signals.ignore()
