"""Training on a CUDA device: features in its memory, equal bits where they are asked for."""

import pytest
import torch

from tests.helpers.composed import run_one

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]


def measures(tiny, outputs_dir, *overrides):
    config = tiny("hardware.accelerator=gpu", f"outputs_dir={outputs_dir}", "trainer.max_epochs=2", *overrides)
    record = run_one(config)
    assert record.attempt == 1
    return record.measures


# few methods where many would tell no more: device time is dear
@pytest.mark.parametrize("name", ["dllp_bce", "genbags", "instance_bce", "mean_map"])
def test_features_on_the_device_train_as_features_of_the_host(tiny, tmp_path, name):
    host = measures(tiny, tmp_path / "host", f"method={name}", "hardware.features_on=host")
    device = measures(tiny, tmp_path / "device", f"method={name}", "hardware.features_on=device")
    assert device == pytest.approx(host, rel=0.02, abs=0.005)


@pytest.mark.parametrize(
    ("name", "optimizer"),
    [("dllp_bce", "adam"), ("dllp_bce", "exact_adam"), ("sim_llp", "exact_adam"), ("hard_erot_llp", "exact_adam")],
)
def test_deterministic_runs_are_equal_bit_by_bit(tiny, tmp_path, name, optimizer):
    chosen = [f"method={name}", f"optimizer={optimizer}", "hardware.deterministic=true", "hardware.features_on=device"]
    first, second = (measures(tiny, tmp_path / place, *chosen) for place in ("first", "second"))
    assert first == second
