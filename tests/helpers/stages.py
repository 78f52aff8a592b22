"""One stage trained outside a run's folder, and what of it is compared."""

import torch
from omegaconf import OmegaConf

from llp.training.fitting import Plan
from llp.training.selection import monitor_of
from llp.training.stage import train_stage
from tests.helpers.composed import build_model, checked, open_table, start_of
from tests.helpers.cutting import CutOffError

HOST = {"accelerator": "cpu", "deterministic": False, "features_on": "host", "row_order": "auto"}


def start(config, table):
    """Method and data of a composed config as its training begins; a first stage would have had any weights."""
    method, data = start_of(config, table)
    if "first_stage" in config.method:
        method.start_from(build_model(config, table))
        method.take_start(data.train_split)
    return method, data


def stage_of(config, folder, table=None, on_row=lambda row: None, **hardware):
    """Train a composed config outside a run's folder: the result, the method and its data."""
    torch.set_num_threads(1)
    config = OmegaConf.merge(config, {"hardware": HOST | hardware})
    table = table or open_table(config)
    method, data = start(config, table)
    plan = Plan(
        name="a run",
        trainer=checked(config).trainer,
        monitor=monitor_of(checked(config).protocol, method, data),
        hardware=checked(config).hardware,
        curve=folder / "metrics.csv",
        checkpoints=folder,
        checkpoint_minutes=config.checkpoint_minutes,
        on_row=on_row,
    )
    return train_stage(method, data, plan), method, data


def untimed(rows):
    return [{name: value for name, value in row.items() if "second" not in name} for row in rows]


def same_weights(first, second):
    first, second = first.state_dict(), second.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def cut_off_after(epoch):
    def on_row(row):
        if row["epoch"] == epoch:
            raise CutOffError

    return on_row
