"""A finished run as files that score elsewhere: `python -m llp.export run=FOLDER out=FOLDER`."""

from llp import signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds

from pathlib import Path

import hydra
from omegaconf import DictConfig

from llp.command import command, told_in_a_line
from llp.config.checks import check_config
from llp.config.command_line import quote_texts
from llp.config.composition import register
from llp.config.grouping_keys import CONF_DIR
from llp.errors import InputError

register()


@command
def main() -> None:
    """Export a run and say how exactly it scores."""
    quote_texts()
    _main()


@hydra.main(config_path=str(CONF_DIR), config_name="export", version_base="1.3")
def _main(config: DictConfig) -> None:
    from llp.scoring.export import MODEL, PREPROCESSING, export
    from llp.scoring.trained import TrainedRuns, find_runs

    out = Path(config.out)
    with told_in_a_line():
        check_config(config, "export")
        runs = find_runs([config.run])
        if len(runs) > 1:
            raise InputError(f"Invalid run={config.run}: {len(runs)} runs are named so, expected one to be exported")
        difference = export(TrainedRuns.open(runs, Path(config.data_dir)), out)
    print(f"{out / MODEL} and {out / PREPROCESSING}: its scores differ by {difference:.1g} at most")


if __name__ == "__main__":
    main()
    signals.ignore()
