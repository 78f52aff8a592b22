"""Which bags are held out: whole ones, and where bags overlap, none that shares a row with one that is trained on."""

from collections.abc import Callable

import numpy as np

from llp.data.bags import Bags, Ids
from llp.errors import InputError
from llp.seeding import keyed_seed


def split_bags(bags: Bags, held_out: float, seed: int) -> tuple[Ids, Ids]:
    """Positions of the bags that are trained on, and of a share set aside whole, at least one if any is."""
    order = np.random.default_rng(keyed_seed(seed, "held-out bags")).permutation(len(bags))
    n_held_out = max(1, round(held_out * len(bags))) if held_out else 0
    if n_held_out and bags.overlap:
        return hold_out(bags, order, n_held_out)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def sharing(bags: Bags) -> Callable[[Ids], Ids]:
    """Which bags share a row with one of some bags, these among them: a function of their positions."""
    from scipy.sparse import csr_array  # takes longer to import than a finished run to be skipped

    rows_of = csr_array((np.ones(len(bags.rows), bool), bags.rows, bags.offsets))
    bags_of = rows_of.T.tocsr()
    return lambda positions: np.unique(bags_of[rows_of[positions].indices].indices).astype(np.int64)


def hold_out(bags: Bags, order: Ids, n_held_out: int) -> tuple[Ids, Ids]:
    """Positions of the bags that are trained on and of those that are held out, without a common row.

    At most `n_held_out` in the given order (K,), but for one with which more than half of all would be out or share a
    row; if every bag is so, the one that shares rows with the fewest. Bags that all share rows are refused.
    """
    of, taken, held = sharing(bags), np.zeros(len(bags), bool), []
    fewest = (len(bags), -1)
    for one in order.tolist():
        touched = of(np.array([one]))
        fewest = min(fewest, (len(touched), one))
        if taken.sum() + (~taken[touched]).sum() <= len(bags) // 2:
            taken[touched] = True
            held.append(one)
        if len(held) == n_held_out:
            break
    if not held:
        n_touched, one = fewest
        if n_touched == len(bags):
            raise InputError(
                f"Invalid protocol=holdout: each of the {len(bags)} train bags shares rows with every other one, so "
                "none can be held out; expected bags that overlap less, or protocol=paper where test rows have labels"
            )
        held, taken[of(np.array([one]))] = [one], True
    return np.flatnonzero(~taken), np.sort(np.array(held))
