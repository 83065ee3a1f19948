"""Breaks of streams and of distributed fits."""

from tests.mutations.mutation import Mutation

__all__ = ["MUTATIONS"]

CHECKPOINTS = "tests/streaming/test_checkpoints.py"

MUTATIONS = (
    Mutation(
        "queue-off-by-one",
        "one row too many is taken where a batch of a stream is full",
        "odalib/inference/annealing/stream.py",
        "start = size - waiting\n",
        "start = size - waiting + 1\n",
        ("tests/inference/annealing/test_stream.py::test_cuts_change_no_bit",),
    ),
    Mutation(
        "resumed-one-row-late",
        "a fit that goes on from a checkpoint leaves out a row",
        "odalib/streaming/sources.py",
        "range(n_samples, self.n_samples, self._batch_size)",
        "range(n_samples + (n_samples > 0), self.n_samples, self._batch_size)",
        (f"{CHECKPOINTS}::test_arrays_go_on_from_the_row",),
    ),
    Mutation(
        "resumed-batch-counted-twice",
        "a fit that goes on counts one batch more than it has learnt",
        "odalib/streaming/fit.py",
        "self.n_batches, self.n_samples = kept.n_batches, kept.n_samples",
        "self.n_batches, self.n_samples = kept.n_batches + 1, kept.n_samples",
        (f"{CHECKPOINTS}::test_an_interrupted_fit_ends_with_the_same_bits",),
    ),
    Mutation(
        "scored-after-learning",
        "chunks are scored by who has learnt them",
        "odalib/streaming/fit.py",
        "                if self._is_scored(chunk):\n"
        "                    self.records.measure(self.estimator, chunk, n_samples)\n"
        "                self._partial_fit(chunk)\n",
        "                is_scored = self._is_scored(chunk)\n"
        "                self._partial_fit(chunk)\n"
        "                if is_scored:\n"
        "                    self.records.measure(self.estimator, chunk, n_samples)\n",
        (
            "tests/streaming/test_prequential.py"
            "::test_scores_of_a_classifier_are_those_of_a_loop",
        ),
    ),
    Mutation(
        "block-weights-lost",
        "blocks of rows give every row the weight one",
        "odalib/distributed/_ep_blocks.py",
        "weighted_probit(y, block[2][rows])",
        "weighted_probit(y, np.ones(len(block[2][rows])))",
        ("tests/distributed/test_ep_rounds.py::test_integer_weights_are_repetitions",),
    ),
    Mutation(
        "blocks-out-of-order",
        "what is odd among the blocks is combined first",
        "odalib/distributed/_blocks.py",
        "parts = [combined(*pair) for pair in pairs] + odd",
        "parts = odd + [combined(*pair) for pair in pairs]",
        (
            "tests/distributed/test_blocks.py"
            "::test_a_round_combines_neighbours_in_an_order_of_the_blocks",
        ),
    ),
    Mutation(
        "blocks-not-added",
        "the mean of the rows is that of some blocks",
        "odalib/distributed/_ground.py",
        "            self.total + other.total,\n",
        "            self.total,\n",
        ("tests/distributed/test_ground.py::test_ground_is_that_of_memory",),
    ),
)
