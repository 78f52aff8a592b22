"""What training reaches on this machine's GPU: `python -m benchmarks.device`, which `make device-check` ends with.

`dllp_bce` on made rows with the full published vocabulary, through the real run: by each optimizer, with minibatches
that are gathered by the host and in the device's memory. A minute or two on one GPU.
"""

import sys

import torch

from benchmarks.measuring import Measured, compose_config, show_measured
from benchmarks.training import full_vocabulary, instances_per_second
from llp.config.composition import register

ROWS = 500_000
WAYS = {
    "dense Adam, features on the device": ("optimizer=adam", "hardware.features_on=device"),
    "exact Adam, features on the host": ("hardware.features_on=host",),
    "exact Adam, features on the device": ("hardware.features_on=device",),
}


def main() -> None:
    """Measure and show."""
    if not torch.accelerator.is_available():
        sys.exit("no GPU is here")
    register()
    out = compose_config().outputs_dir / "bench"
    short = full_vocabulary(ROWS, out / "device", "hardware.accelerator=gpu", "trainer.max_epochs=3")
    rates = {name: instances_per_second(*short, *way) for name, way in WAYS.items()}
    show_measured([Measured(name, rate, "instances/s") for name, rate in rates.items()], out / "device.json")


if __name__ == "__main__":
    main()
