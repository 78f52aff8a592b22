"""What reports of real tables give, beside all labels: `python -m benchmarks.report_tables [TABLE ...]`.

Of each table `cell_glm` on a report of every column and every pair, exact and with Laplace noise at ε = 1 and 0.3 for
all of it; and, from all labels, `instance_bce` and gradient-boosted trees on the same columns and folds. The records
are kept as `docs/results/reports_....parquet`; `python -m benchmarks.results` makes the table of `docs/reports.md`.
"""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.measuring import compose_config
from benchmarks.records import keep, runs_below
from llp.config.composition import register
from llp.data.folds import N_FOLDS, fold_positions
from llp.data.table import InstanceTable
from llp.datasets.preparation import prepare_table
from llp.metrics.evaluation import all_measures
from llp.runs.record import RunRecord, StageRecord
from llp.runs.run import run_one

OUTPUTS, DATA = Path("outputs/reports"), Path("outputs/reports_data")
ADULT = "workclass,education,marital,occupation,relationship,sex"
STOPS = "month,weekday,hour,MDC,race,gender,policePrecinct,neighborhood"
MOTHERS = "age,gender1,gender2,black,hispanic,other"
DATE = "STRPTIME(date,'%Y-%m-%dT%H:%M:%SZ')"
TABLES = {  # the first three in the coding and folds of a study made before this program
    "adult": (
        "table=adult_10",
        f"key_columns=[{ADULT},age,gain,loss,hours]",
        f"prepare.categories=[{ADULT}]",
        "prepare.bins=18",
    ),
    "mpls_stops": (
        "table=mpls_stops_8",
        f"key_columns=[{STOPS}]",
        f'prepare.categories=["EXTRACT(month FROM {DATE}) AS month","EXTRACT(isodow FROM {DATE}) AS weekday",'
        f'"EXTRACT(hour FROM {DATE}) AS hour",MDC,race,gender,policePrecinct,neighborhood]',
        "prepare.binned=[]",
    ),
    "fertility": (
        "table=fertility_7",
        f"key_columns=[{MOTHERS},weeks]",
        "prepare.categories=[age,gender1,gender2,afam AS black,hispanic,other,work AS weeks]",
        "prepare.binned=[]",
        "prepare.sample=null",
    ),
    "mortgages": ("key_columns=[birthplace,quarter,nonwhite,veteran,born]",),
    "gss_abortion": ("key_columns=[year,race,sex,hispanic,educ,party,religious,age]",),
    "vietnam": ("key_columns=[commune,sex,married,educ,illness,injury,insurance,spending,age,illdays,actdays]",),
}
BEFORE = {"adult", "mpls_stops", "fertility"}


def measure(name: str) -> None:
    """Train on one table; what is finished is there already."""
    table = [f"dataset={name}", *(f"dataset.{word}" for word in TABLES[name]), f"data_dir={DATA}"]
    table += ["protocol=holdout", f"outputs_dir={OUTPUTS}", *["protocol.folds=published"] * (name in BEFORE)]
    prepare_table(compose_config(*table).dataset, DATA)
    report, labels = ["grouping_key=report", "method=cell_glm"], ["grouping_key=random_64", "method=instance_bce"]
    noisy = [[*report, "noise=laplace", f"noise.epsilon={epsilon}"] for epsilon in (1, 0.3)]
    for fold in range(1 if name in BEFORE else N_FOLDS):
        for words in (report, *noisy, labels):
            record = run_one(compose_config(*table, *words, f"fold={fold}"))
            print(name, fold, *words[2:], record.measures["auc"], record.measures["log_loss"], flush=True)
    for result in sorted((OUTPUTS / name).glob("random_64/instance_bce/*/*/*/result.json")):
        trees(result)


def trees(result: Path) -> None:
    """Fit gradient-boosted trees on the train rows of a run on all labels, and leave a record as of a method."""
    record = RunRecord.read(result)
    place = Path(str(result).replace("instance_bce", "trees"))
    if place.is_file():
        return
    config: Any = record.config
    table = InstanceTable.open(DATA / config["dataset"]["table"])
    published = config["protocol"]["folds"] == "published"
    train, test = fold_positions(table.schema.rows, record.fold, None if published else record.seed)
    categories = [one.transform == "categories" and (one.vocab_size or 0) <= 255 for one in table.schema.categorical]
    begin = time.perf_counter()
    model = HistGradientBoostingClassifier(categorical_features=categories, random_state=record.seed)
    model.fit(table.categorical[train], table.label[train])
    scores = logit(np.clip(model.predict_proba(table.categorical[test])[:, 1], 1e-7, 1 - 1e-7))
    measures = all_measures(scores, np.array(table.label[test]), "binary")
    stage = StageRecord(
        method="trees",
        epochs=model.n_iter_,
        early_stopped=False,
        seconds=time.perf_counter() - begin,
        instances_per_second=None,
    )
    own = {"method": "trees", "model": "trees", "measures": measures, "stages": [stage], "refit": None}
    metric = record.metric.model_copy(
        update={"best": measures["auc"], "best_epoch": -1, "held_out": None, "last": None}
    )
    place.parent.mkdir(parents=True)
    record.model_copy(update=own | {"metric": metric}).write(place)


def main() -> None:
    """Measure the tables named, or all; keep the records."""
    register()
    for name in sys.argv[1:] or TABLES:
        measure(name)
    keep(runs_below(OUTPUTS), "reports")


if __name__ == "__main__":
    main()
