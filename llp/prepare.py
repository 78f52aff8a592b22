"""Raw files to an instance table: `python -m llp.prepare dataset=criteo_ctr raw=/data/train.txt`."""

from llp import machine, signals

if __name__ == "__main__":
    signals.exit_at_once()  # before the imports, which take seconds
    machine.prefer_speed()

from rich.console import Console
from rich.table import Table

from llp.config.commands import PrepareConfig
from llp.config.hydra_main import command_of
from llp.config.own_code import placed_errors
from llp.data.table import InstanceTable
from llp.datasets.preparation import prepare_table


def describe(table: InstanceTable, console: Console) -> None:
    """Print what preparing found: rows, label, each column's codes and missing values, and the rest of the facts."""
    facts = dict(table.schema.facts)
    missing = facts.pop("missing_share", {})
    shown = Table("column")
    shown.add_column("codes", justify="right")
    shown.add_column("missing", justify="right")
    for column in table.schema.columns:
        size = f"{column.vocab_size:,}" if column.vocab_size else "numeric"
        shown.add_row(column.name, size, f"{missing[column.name]:.2%}" if column.name in missing else "")
    console.print(shown)
    console.print(f"{table.folder}: {table.n_rows:,} rows", soft_wrap=True, highlight=False)
    for name, value in facts.items():
        text = f"{value:.4f}" if isinstance(value, float) else str(value)
        console.print(f"{name.replace('_', ' ')}: {text}", soft_wrap=True, highlight=False)


@command_of(PrepareConfig)
def main(config: PrepareConfig) -> None:
    """Prepare a dataset's table and say what was found."""
    with placed_errors([config.dataset.prepare], debug=config.debug):
        folder = prepare_table(config.dataset, config.data_dir, config.raw, config.errors, config.force)
    describe(InstanceTable.open(folder), Console())


if __name__ == "__main__":
    main()
    signals.ignore()
