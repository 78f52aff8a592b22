"""The generators of random draws, keyed by the step."""

import torch

from llp.seeding import keyed_seed


class StepGenerators:
    """One generator per purpose, seeded anew at every step, so that a run's draws do not depend on where it was cut.

    Parameters
    ----------
    seed : int
        The run's seed.

    Attributes
    ----------
    by_purpose : dict
        Each is one object for the whole run: a CUDA graph holds on to it, and is replayed after `reseed`.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.by_purpose: dict[str, torch.Generator] = {}

    def generator(self, purpose: str, device: torch.device, *, epoch: int, step: int) -> torch.Generator:
        """Give the generator of a purpose, at the start of its draws for a step."""
        if purpose not in self.by_purpose:
            self.by_purpose[purpose] = torch.Generator(device)
        if not (device.type == "cuda" and torch.cuda.is_current_stream_capturing()):
            self._seed_for(purpose, epoch, step)
        return self.by_purpose[purpose]

    def reseed(self, *, epoch: int, step: int) -> None:
        """Set every generator to the start of its draws for a step."""
        for purpose in self.by_purpose:
            self._seed_for(purpose, epoch, step)

    def _seed_for(self, purpose: str, epoch: int, step: int) -> None:
        self.by_purpose[purpose].manual_seed(keyed_seed(self._seed, purpose, epoch, step))
