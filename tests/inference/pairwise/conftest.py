import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="package", autouse=True)
def one_blas_thread():
    """Threads that wait for each other take longer than these small problems."""
    with threadpool_limits(1, user_api="blas"):
        yield
