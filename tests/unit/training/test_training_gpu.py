"""Training on a CUDA device: features in its memory, captured steps, runs side by side."""

import numpy as np
import pytest
import torch

from llp.config.grouping_keys import options
from llp.metrics import on_device, ranking
from llp.runs.build import build_method, open_table
from llp.runs.run import run_one

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


def measures(tiny, outputs_dir, *overrides):
    config = tiny("hardware.accelerator=gpu", f"outputs_dir={outputs_dir}", "trainer.max_epochs=2", *overrides)
    record = run_one(config)
    assert record["attempt"] == 1
    return record.measures


def binary_methods():
    return [name for name in options("method") if name not in ("group_prior", "instance_mse")]


# few methods where many would tell no more: device time is dear
@pytest.mark.parametrize("name", ["dllp_bce", "genbags", "instance_bce", "mean_map"])
def test_features_on_the_device_train_as_features_of_the_host(tiny, tmp_path, name):
    host = measures(tiny, tmp_path / "host", f"method={name}", "hardware.features_on=host")
    device = measures(tiny, tmp_path / "device", f"method={name}", "hardware.features_on=device")
    assert device == pytest.approx(host, rel=0.02, abs=0.005)


@pytest.mark.parametrize("name", binary_methods())
def test_captured_steps_train_as_plain_ones_do(tiny, tmp_path, caplog, name):
    key = ["grouping_key=C1_C23", "grouping_key.low_thresh=2", f"method={name}", "hardware.features_on=device"]
    if name == "sim_llp":
        key.append("method.pair_instances=2048")
    if not build_method(tiny(*key), open_table(tiny(*key))).static_shape:
        pytest.skip("its steps are not captured")
    plain = measures(tiny, tmp_path / "plain", *key, "hardware.cuda_graphs=false")
    captured = measures(tiny, tmp_path / "captured", *key, "hardware.cuda_graphs=true")
    assert "cannot be captured" not in caplog.text
    assert captured == pytest.approx(plain, rel=0.02, abs=0.005)


@pytest.mark.parametrize("optimizer", ["adam", "exact_adam"])
def test_captured_steps_go_with_each_optimizer(tiny, tmp_path, caplog, optimizer):
    chosen = ["method=dllp_bce", f"optimizer={optimizer}", "hardware.features_on=device"]
    plain = measures(tiny, tmp_path / "plain", *chosen)
    captured = measures(tiny, tmp_path / "captured", *chosen, "hardware.cuda_graphs=true")
    assert "cannot be captured" not in caplog.text
    assert captured == pytest.approx(plain, rel=0.01, abs=0.002)


@pytest.mark.parametrize(
    ("name", "optimizer"),
    [("dllp_bce", "adam"), ("dllp_bce", "exact_adam"), ("sim_llp", "exact_adam"), ("hard_erot_llp", "exact_adam")],
)
def test_deterministic_runs_are_equal_bit_by_bit(tiny, tmp_path, name, optimizer):
    chosen = [f"method={name}", f"optimizer={optimizer}", "hardware.deterministic=true", "hardware.features_on=device"]
    first, second = (measures(tiny, tmp_path / place, *chosen) for place in ("first", "second"))
    assert first == second


def test_measures_on_the_device_are_the_hosts():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=100_000).astype(np.float32), (rng.random(100_000) < 0.3).astype(np.float32)
    there = on_device.epoch_measures(torch.from_numpy(scores).cuda(), torch.from_numpy(labels).cuda(), "binary")
    assert there["auc"] == ranking.exact_auc(scores, labels)
    assert there["auc_200_thresholds"] == pytest.approx(
        ranking.auc_200_thresholds(1 / (1 + np.exp(-scores)), labels), abs=1e-4
    )
