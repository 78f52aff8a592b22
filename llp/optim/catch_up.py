r"""Adam's movement of a weight over the steps in which it gets no gradient, in closed form.

Dense Adam moves every weight at every step: without a gradient the moments decay and still push. For a weight
with moments ``m``, ``v`` as of step ``t0`` the push of the ``k`` steps that follow is

.. math::

    m \sum_{j=1}^{k} \frac{A_j}{\sqrt v\, B_j + \epsilon}, \qquad
    A_j = \eta_{t_0+j} \frac{\beta_1^j}{1 - \beta_1^{t_0+j}}, \quad
    B_j = \sqrt{\frac{\beta_2^j}{1 - \beta_2^{t_0+j}}}

(Kingma & Ba, 2015, Algorithm 1, with a zero gradient). ``A_j`` dies off within a *window* of steps, over which
``B_j`` changes little. Around a centre ``B_0``, with :math:`\delta_j = 1 - B_j / B_0`, :math:`w = \sqrt v B_0` and
:math:`u = w / (w + \epsilon)`, the sum is a geometric series:

.. math::

    \sum_j \frac{A_j}{\sqrt v\, B_j + \epsilon} = \frac{1}{w + \epsilon} \sum_q u^q S_q, \qquad
    S_q = \sum_j A_j \delta_j^q .

``B_0`` and ``S_q`` do not depend on the weight: one *row of sums* per ``t0`` serves all of them, and a new step adds
one term to the rows of the last ``window`` steps, whatever its learning rate was. While ``t0`` is smaller than the
window, ``B_j`` falls fast; those sums are cut into *blocks* of ``j``, each with a centre of its own.
"""

import math
from collections.abc import Sized
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

TERMS = 8
"""Terms of the series."""
TAIL = 1e-12
"""Share of the push that may lie beyond the window."""
WORST_ERROR = 1e-6
"""Largest relative error of the series that is accepted: a thousandth of what float32 Adam itself is off."""
BLOCK_GROWTH = 1.5
"""A block of early sums ends at this multiple of its first step: ``B_j`` falls by a fifth at most inside it."""


@dataclass(frozen=True)
class PushSums:
    """Table of the sums of each ``t0``, and the addition of a step to it; 0 < beta < 1.

    float64, rows × (1 + TERMS): ``B_0``, ``S_0 … S_7``; ``window × n_blocks`` rows of early ``t0``, then one each.
    """

    beta1: float
    beta2: float

    @cached_property
    def window(self) -> int:
        """Steps after which a push has died off to ``TAIL`` of its whole."""
        return math.ceil(math.log(TAIL) / math.log(self.beta1))

    @cached_property
    def block_ends(self) -> NDArray[np.int64]:
        """Last ``j`` of each block (n_blocks), rising; the last one is the window."""
        ends, first = [], 1
        while first <= self.window:
            ends.append(min(math.ceil(BLOCK_GROWTH * first), self.window))
            first = ends[-1] + 1
        return np.array(ends, dtype=np.int64)

    @property
    def n_blocks(self) -> int:
        """Blocks of an early ``t0``."""
        return len(self.block_ends)

    @cached_property
    def block_of(self) -> NDArray[np.int64]:
        """Block of ``j`` (window + 1; entry 0 is unused)."""
        return np.searchsorted(self.block_ends, np.arange(self.window + 1))

    @cached_property
    def block_centres(self) -> NDArray[np.float64]:
        """The ``j`` at which a block takes its centre (n_blocks): near the mean of ``j`` under ``A_j``."""
        firsts = np.concatenate(([1], self.block_ends[:-1] + 1))
        return np.minimum((firsts + self.block_ends) / 2, firsts + self.mean_age)

    @property
    def mean_age(self) -> float:
        """Mean of ``j`` under ``A_j`` late in a run."""
        return 1 / (1 - self.beta1)

    @property
    def early_rows(self) -> int:
        """Rows of the table that belong to ``t0 < window``."""
        return self.window * self.n_blocks

    @cached_property
    def decays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``beta1^j`` and ``beta2^j`` for ``j = 1 … window``."""
        j = np.arange(1.0, self.window + 1)
        return self.beta1**j, self.beta2**j

    def centre(self, t0: NDArray[np.float64], j: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Give ``B_j`` for rows last touched at ``t0``; ``j`` need not be whole."""
        centre: NDArray[np.float64] = np.sqrt(self.beta2**j / (1 - self.beta2 ** (t0 + j)))
        return centre

    def table(self, steps: int) -> NDArray[np.float64]:
        """Make a table (early_rows + max(0, steps − window) + 1, 1 + TERMS) for ``steps`` steps, none of them added."""
        early = np.arange(self.window, dtype=np.float64)[:, None]
        late = np.arange(self.window, max(self.window, steps) + 1, dtype=np.float64)
        sums = np.zeros((self.early_rows + len(late), 1 + TERMS))
        sums[: self.early_rows, 0] = self.centre(early, self.block_centres).ravel()
        sums[self.early_rows :, 0] = self.centre(late, self.mean_age)
        return sums

    def capacity(self, sums: Sized) -> int:
        """Give the number of steps that the table has room for."""
        return len(sums) - self.early_rows + self.window - 1

    def grown(self, sums: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
        """Copy a table into one with room for ``steps`` steps."""
        larger = self.table(steps)
        larger[: len(sums)] = sums
        return larger

    def add_step(self, sums: NDArray[np.float64], step: int, lr: float) -> NDArray[np.int64]:
        """Add the push of one step (from 1, in order) to the sums before it, in place; gives the rows changed."""
        reach = min(self.window, step - 1)  # j = 1 … reach, t0 = step − j
        late = max(0, min(reach, step - self.window))  # the first `late` of them have t0 >= window
        decay1, decay2 = self.decays
        A = lr * decay1[:reach] / (1 - self.beta1**step)
        B = np.sqrt(decay2[:reach] / (1 - self.beta2**step))
        j = np.arange(1, reach + 1)
        rows = self.early_rows - self.window + step - j
        rows[late:] = (step - j[late:]) * self.n_blocks + self.block_of[j[late:]]
        delta = 1 - B / sums[rows, 0]
        powers = np.vander(delta, TERMS, increasing=True)  # (reach, TERMS)
        sums[rows, 1:] += A[:, None] * powers
        return rows

    def error(self) -> float:
        """The largest relative error of the series over all ``t0``, for ``eps = 0``: ``A_j δ_j^TERMS / (1 − δ_j)``."""
        late = [(self.window * factor, True) for factor in (1, 2, 5, 20, 100)]
        early = [(t0, False) for t0 in (1, 2, 5, self.window // 4 + 1, self.window - 1)]
        return max(self._error_at(t0, one_block=one_block) for t0, one_block in early + late)

    def _error_at(self, t0: int, *, one_block: bool) -> float:
        j = np.arange(1.0, self.window + 1)
        A = self.beta1**j / (1 - self.beta1 ** (t0 + j))
        B = np.sqrt(self.beta2**j / (1 - self.beta2 ** (t0 + j)))
        at = np.full(self.window, self.mean_age) if one_block else self.block_centres[self.block_of[1:]]
        centre = self.centre(np.array(float(t0)), at)
        rest = A * np.abs(1 - B / centre) ** TERMS / B
        return float(rest.sum() / (A / B).sum())
