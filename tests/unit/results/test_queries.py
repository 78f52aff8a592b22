"""The table of the queries that runs learnt from."""

from llp.results.tables.queries import queries
from tests.helpers.grids import contents_of
from tests.helpers.records import write_run


def account(coverage, carries):
    return {
        "columns": ["month", "dest"],
        "cells": 40,
        "published": 0.9,
        "noise_sd": 1.5,
        "penalty": 30.0,
        "coverage": coverage,
        "carries": carries,
    }


def test_queries_are_means_over_folds(tmp_path):
    for fold, carries in enumerate((0.01, 0.03)):
        facts = {"by_query": [account(None, carries)]}
        write_run(tmp_path, 0.7, fold=fold, grouping_key="report", method="cell_glm", model="cell_weights", facts=facts)
    write_run(tmp_path, 0.7, fold=0, grouping_key="report")
    part = contents_of(tmp_path)
    (row,) = queries(part.cells, part.runs).rows
    shown = [cell.text for cell in row]
    assert shown == ["report", "cell_glm", "month × dest", "40", "0.900", "1.50", "30.0", "–", "0.02000"]
