"""Pages of large tables: none for zeros that nobody wrote, huge ones for the three tables of a long training alone."""

import re
from pathlib import Path

import pytest
import torch

from llp.optim import rows_on_cpu
from llp.optim.exact_adam import ExactAdam
from llp.optim.pages import lazy_zeros, make_huge
from llp.optim.row_gradient import RowParameter, sum_rows

N, D = 2**15, 128
TABLE = 4 * N * D
EVERY_ROW = torch.arange(N, dtype=torch.int32)[:, None]


def kilobytes(file: str, field: str) -> int:
    return 1024 * sum(map(int, re.findall(rf"^{field}:\s+(\d+) kB", Path(f"/proc/self/{file}").read_text(), re.M)))


def trained(steps: int) -> RowParameter:
    weight = RowParameter(torch.ones(N, D))
    optimizer = ExactAdam([weight], lr=1e-3, betas=(0.9, 0.999), eps=1e-8)
    for _ in range(steps):
        optimizer.zero_grad()
        sum_rows(weight, EVERY_ROW).sum().backward()
        optimizer.step()
    return weight


def test_moments_take_memory_once_they_are_written():
    weight = RowParameter(torch.ones(N, D))
    before = kilobytes("status", "RssAnon")
    optimizer = ExactAdam([weight], lr=1e-3, betas=(0.9, 0.999), eps=1e-8)
    assert kilobytes("status", "RssAnon") - before < TABLE / 4
    assert not optimizer.state[weight]["exp_avg"].any()


def test_only_the_three_tables_of_a_long_training_lie_on_huge_pages(monkeypatch):
    scratch = lazy_zeros(torch.empty(N, D)).fill_(1)
    before = kilobytes("smaps", "AnonHugePages")
    make_huge(scratch)
    if kilobytes("smaps", "AnonHugePages") - before < TABLE / 2:
        pytest.skip("this system has no huge pages to give")
    del scratch
    before = kilobytes("smaps", "AnonHugePages")
    kept = trained(3)
    assert kilobytes("smaps", "AnonHugePages") - before < TABLE / 2  # a short one pays for none
    monkeypatch.setattr(rows_on_cpu, "UPDATES_TO_HUGE", 2)
    huge = trained(3)
    assert 2.5 * TABLE < kilobytes("smaps", "AnonHugePages") - before <= 3 * TABLE
    assert torch.equal(huge, kept)


def test_scoring_brings_rows_up_to_date_once_on_any_number_of_threads():
    rows = torch.randint(0, 500, (400, 5), generator=torch.Generator().manual_seed(0), dtype=torch.int32)
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        weight = RowParameter(torch.linspace(-1, 1, 1000).reshape(500, 2))
        optimizer = ExactAdam([weight], lr=1e-2, betas=(0.9, 0.999), eps=1e-8)
        for some in rows.split(50):
            optimizer.zero_grad()
            sum_rows(weight, some).square().sum().backward()
            optimizer.step()
            with torch.no_grad():
                with pytest.raises(IndexError):
                    sum_rows(weight, torch.cat([some.flip(0), some.new_full((1, 5), 500)]))
                found.append(sum_rows(weight, rows))
    torch.set_num_threads(1)
    assert all(torch.equal(one, other) for one, other in zip(found[:8], found[8:16], strict=True))
    assert all(torch.equal(one, other) for one, other in zip(found[:8], found[16:], strict=True))
    optimizer.catch_up_all()
    assert torch.equal(sum_rows(weight, rows), found[-1])
