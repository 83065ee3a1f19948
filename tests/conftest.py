import os

from hypothesis import settings

# Read when matplotlib is first imported: tests draw where there is no screen.
os.environ["MPLBACKEND"] = "Agg"
# Read when scipy is first imported: scikit-learn's checks of array API input run.
os.environ["SCIPY_ARRAY_API"] = "1"

# Both say all they need: where the variable CI is set, hypothesis starts from a
# profile of its own.
settings.register_profile("default", deadline=None, derandomize=True, max_examples=15)
settings.register_profile(
    "nightly", deadline=None, derandomize=False, max_examples=1000, print_blob=True
)
settings.load_profile("default")
