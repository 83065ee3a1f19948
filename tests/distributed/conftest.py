"""Clusters for the tests of distributed estimators."""

import pytest
from distributed import Client, LocalCluster


@pytest.fixture(scope="session")
def processes():
    """Client of two worker processes of one thread each; not the current one."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as two,
        Client(two, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def threads():
    """Client of two workers in this process; not the current one."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as two,
        Client(two, set_as_default=False) as client,
    ):
        yield client
