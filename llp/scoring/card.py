"""The model card of an export, made of the run's record: data, bags, protocol, measures, privacy, limits."""

from llp.data.noise import CAVEAT, Promise
from llp.data.table import InstanceTable
from llp.runs.record import RunRecord

FILE = "README.md"


def card(record: RunRecord, table: InstanceTable) -> str:
    """A model card in Markdown."""
    kind = "probability that a binary label is 1, as log-odds" if record.label_kind == "binary" else "real label"
    columns = f"{len(table.schema.categorical)} categorical and {len(table.schema.numeric)} numeric columns"
    n_test = record.n_test_instances
    held, left = record.n_held_out_bags, record.n_left_out_bags
    apart = [f"{n:,} {what}" for n, what in ((held, "held out"), (left, "left out")) if n]
    metric, refit = record.metric, record.refit
    seen = "single labelled instances" if record.instance_labels else "sums of labels over bags alone"
    trained = [f"{stage.method}, {stage.epochs} epochs" for stage in record.stages]
    picked = (
        f"epoch {metric.best_epoch} was picked by `{metric.picked_by}`" if metric.picked_by else "no epoch is picked"
    )
    again = f"; trained again on all {refit.bags:,} bags" if refit else ""
    return f"""\
# {record.method} on {record.dataset}

`model.pt2` predicts the {kind} from an instance's features; `preprocessing.json` says how raw values become these. Run
`{record.config_hash}` of {record.started[:10]}, llp-bench {record.versions.get("llp-bench")}.

## Data

Dataset `{record.dataset}` (table {record.table}): {table.n_rows:,} instances, {columns}.
{record.n_train_instances:,} train and {n_test:,} test instances (fold {record.fold}, seed {record.seed}).

## Bags

Trained on {seen}: grouping key `{record.grouping_key}` ({record.bag_kind}), {record.n_train_bags:,} bags
over {record.n_train_instances:,} instances{"".join(f", {one}" for one in apart)}.

## Training

Method `{record.method}`, model `{record.model}`, protocol `{record.protocol}`: {"; ".join(trained)}; {picked}{again}.

## Measures

{_measures(record)}

## Privacy

{_privacy(record.noise, record.facts.get("noise_sd"))}

## Limits

{"".join(f"- {one}{chr(10)}" for one in _limits(record))}"""


def _measures(record: RunRecord) -> str:
    """A table of the measures, and of the constant's that predicts the label mean of the train bags for everyone."""
    with_constant = any(name.startswith("constant_") for name in record.measures)
    rows = ["| measure | this model | a constant |", "|---|---|---|"]
    if not with_constant:
        rows = ["| measure | this model |", "|---|---|"]
    for name, value in record.measures.items():
        if not name.startswith("constant_"):
            shown = (value, record.measures.get(f"constant_{name}"))[: 1 + with_constant]
            rows.append(f"| {name} | {' | '.join('' if one is None else f'{one:.4g}' for one in shown)} |")
    on = "sums of bags, no labelled row"
    if record.n_test_instances:
        on = f"{record.n_test_instances:,} labelled test rows"
    elif "cells" in record.facts:
        on = "the sums of the cells that were fitted, no labelled row: of other rows they say nothing"
    constant = " The constant is the label mean of the train bags." if with_constant else ""
    return "\n".join([*rows, "", f"On {on}.{constant}"])


def _privacy(noise: Promise | None, stated_sd: object) -> str:
    if noise is None and stated_sd:
        return (
            f"The sums came with noise of standard deviation {stated_sd:.4g}, as was stated with them; what it "
            "promises to whoever is in the bags is not known here."
        )
    if noise is None:
        return "No noise is known to be in the sums: nothing is promised to whoever is in the bags."
    delta = f", δ = {noise.delta:g}" if noise.delta else ""
    scale = "" if noise.mechanism == "randomised_response" else f" of scale {noise.scale:.4g}"
    return (
        f"The sums have `{noise.mechanism}` noise{scale}, which promises ε = {noise.epsilon:g}{delta} for all of them "
        f"together, of neighbouring data: {noise.neighbours}. An instance is in at most "
        f"{noise.bags_of_a_row} of the bags. {CAVEAT}"
    )


def _limits(record: RunRecord) -> list[str]:
    """What the record says of how far the measures hold."""
    limits = [
        "Values that the table does not have are coded as rare or missing ones: other data than these are not measured."
    ]
    if record.protocol == "paper" and record.metric.picked_by:
        limits.append("The epoch was picked on the test rows: the measures are optimistic (protocol=paper).")
    if record.bag_kind in ("random", "fixed"):
        limits.append(
            "The bags were drawn at random, or cut to one size: sums over groups as they come may teach less."
        )
    if record.noise and record.noise.sums_outside:
        limits.append(f"{record.noise.sums_outside:,} of the noisy sums are such as no labels give.")
    return limits
