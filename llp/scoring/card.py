"""The model card of an export, made of the run's record: data, bags, protocol, measures, privacy, limits."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from llp.data.noise import CAVEAT
from llp.data.table import InstanceTable
from llp.runs.record import RunRecord

FILE = "README.md"


def card(record: RunRecord, table: InstanceTable) -> str:
    """A model card in Markdown."""
    environment = Environment(
        loader=PackageLoader("llp.scoring", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    constants = [name for name in record.measures if name.startswith("constant_")]
    template = environment.get_template("card.md.j2")
    return template.render(record=record, table=table, constants=constants, caveat=CAVEAT)
