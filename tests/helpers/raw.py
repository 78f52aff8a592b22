"""Made raw files in Criteo's formats, and the tables that are prepared from them."""

import io
import tarfile
import zipfile

from benchmarks import raw_synthetic
from llp.data.table import InstanceTable
from llp.datasets import criteo_ctr, criteo_sscl

CTR_NAMES = ["label", *(f"I{i}" for i in range(1, 14)), *(f"C{i}" for i in range(1, 27))]
SSCL_NAMES = [
    *("Sale", "SalesAmountInEuro", "Time_delay_for_conversion", "click_timestamp", "nb_clicks_1week", "product_price"),
    *("product_age_group", "device_type", "audience_id", "product_gender", "product_brand"),
    *(f"product_category({i})" for i in range(1, 8)),
    *("product_country", "product_id", "product_title", "partner_id", "user_id"),
]


def write_ctr(path, rows, vocab_fraction=1e-3, tail_values=1000):
    """Write a raw file of Criteo CTR, a quarter of whose values are of a long tail; returns its path."""
    options = {"vocab_fraction": vocab_fraction, "tail_values": tail_values, "tail_share": 0.25}
    raw_synthetic.write_ctr(path, rows=rows, seed=0, **options)
    return path


def prepare_ctr(folder, *raw, errors="stop"):
    """The table of raw files of Criteo CTR."""
    criteo_ctr.prepare(folder=folder, made_by={}, raw=[str(one) for one in raw], errors=errors, rare_at_most=10)
    return InstanceTable.open(folder)


def prepare_sscl(folder, raw, transform="none", rare_at_most=5):
    """The table of a raw file of Criteo SSCL."""
    options = {"errors": "stop", "rare_at_most": rare_at_most, "transform": transform}
    criteo_sscl.prepare(folder=folder, made_by={}, raw=[str(raw)], **options)
    return InstanceTable.open(folder)


def zipped(files):
    """The bytes of a zip archive of {name: content}."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(files):
    """The bytes of a tar archive of {name: content}."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()
