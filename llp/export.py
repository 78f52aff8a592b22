"""A finished run as files that score elsewhere: `python -m llp.export run=FOLDER out=FOLDER`."""

from llp import machine, signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds
    machine.prefer_speed()

from llp.config.commands import ExportConfig
from llp.config.hydra_main import command_of
from llp.errors import InputError, invalid


@command_of(ExportConfig)
def main(config: ExportConfig) -> None:
    """Export a run and say how exactly it scores."""
    from llp.scoring.export import MODEL, PREPROCESSING, export
    from llp.scoring.trained import TrainedRuns

    if config.out.exists() and not config.out.is_dir():
        given = str(config.out)
        raise invalid("out", given, "a folder, which is made where it is not there; this is a file", "export")
    runs = TrainedRuns.open([config.run], config.data_dir)
    if len(runs.methods) > 1:
        raise InputError(
            f"Invalid run={config.run}: {len(runs.methods)} runs are named so, expected one to be exported"
        )
    difference = export(runs, config.out)
    print(f"{config.out / MODEL} and {config.out / PREPROCESSING}: its scores differ by {difference:.1g} at most")


if __name__ == "__main__":
    main()
    signals.ignore()
