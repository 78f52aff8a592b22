"""Records as files: what is written is read, strictly JSON, and nothing else is taken for one."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from llp.runs.record import SCHEMA, FailureRecord, RecordError, RunRecord
from tests.helpers.records import record, stage


def refuse_constant(name):
    raise AssertionError(f"{name} is no JSON")


@given(value=st.floats(), untrained=st.none() | st.floats(), rate=st.floats())
def test_what_is_written_is_read_and_undefined_numbers_are_null(tmp_path_factory, value, untrained, rate):
    path = tmp_path_factory.mktemp("record") / "result.json"
    metric = record("auc", value).metric.model_dump() | {"untrained": untrained}
    written = record("auc", value, metric=metric, stages=[stage(instances_per_second=rate)])
    written.write(path)
    plain = json.loads(path.read_text(), parse_constant=refuse_constant)
    assert plain["schema_version"] == SCHEMA
    assert plain["measures"]["auc"] == plain["metric"]["best"] == (value if abs(value) <= 1e100 else None)
    assert RunRecord.read(path) == written


def test_misspelt_and_missing_fields_are_refused_when_a_record_is_made():
    fields = record("auc", 0.5).model_dump()
    wrongs = [{"grouping_kee": "a"}, {"fold": 0.5}, {"attempt": -1}, {"metric": fields["metric"] | {"bets": 1.0}}]
    wrongs += [{"seconds": math.inf}, {"seconds": 1e300}, {"started": "yesterday"}, {"started": "2030-13-01"}]
    for wrong in wrongs:
        with pytest.raises(ValidationError):
            RunRecord(**fields | wrong)
    # a run that is not trained anew has no refit, and records of before it was kept no number of held-out bags
    for name in fields.keys() - {"schema_version", "refit", "n_held_out_bags", "n_left_out_bags", "noise", "facts"}:
        with pytest.raises(ValidationError):
            RunRecord(**{other: value for other, value in fields.items() if other != name})


def test_a_missing_file_and_a_folder_are_told_in_a_line(tmp_path):
    for path, said in ((tmp_path / "none.json", "No such file"), (tmp_path, "Not a regular file")):
        with pytest.raises(RecordError, match=said) as error:
            RunRecord.read(path)
        assert "\n" not in str(error.value)


def test_failure_says_type_and_first_line(tmp_path):
    try:
        raise FloatingPointError("loss is NaN\nat step 3")
    except FloatingPointError as error:
        FailureRecord.of(error).write(tmp_path / "error.json")
    read = FailureRecord.read(tmp_path / "error.json")
    assert read.reason == "FloatingPointError: loss is NaN"
    assert "in test_failure_says" in read.traceback
    assert FailureRecord(error="", type="E", traceback="").reason == "E: no message"
