"""Breaks of pairwise models."""

from tests.mutations.mutation import Mutation

__all__ = ["MUTATIONS"]

INFERENCE = "odalib/inference/pairwise"
TESTS = "tests/inference/pairwise"
SLOPES = (
    f"{TESTS}/test_identities.py"
    "::test_slopes_of_the_log_partition_are_the_magnetisations"
)

MUTATIONS = (
    Mutation(
        "onsager-dropped",
        "TAP without its reaction term",
        f"{INFERENCE}/tap.py",
        "return B + J @ m - m * (squares @ (1.0 - m**2))",
        "return B + J @ m",
        (SLOPES,),
    ),
    Mutation(
        "tap-pairs-twice",
        "the second order of the TAP free energy counts twice",
        f"{INFERENCE}/tap.py",
        "+ 0.25 * float(v @ reaction)",
        "+ 0.5 * float(v @ reaction)",
        (SLOPES,),
    ),
    Mutation(
        "swings-undamped",
        "where fixed-point iterations swing, they are not damped",
        f"{INFERENCE}/fixed_point.py",
        "damping = min(1.0, damping * (BRAKE if rose else RECOVER))",
        "damping = min(1.0, damping * RECOVER)",
        (f"{TESTS}/test_fixed_point.py",),
    ),
    Mutation(
        "response-sign",
        "couplings enter the linear response of mean field with the wrong sign",
        f"{INFERENCE}/mean_field.py",
        "inverse = -scale[:, np.newaxis] * couplings.matrix * scale",
        "inverse = scale[:, np.newaxis] * couplings.matrix * scale",
        (f"{TESTS}/test_infer.py::test_sparse_couplings_say_what_dense_ones_do",),
    ),
    Mutation(
        "tap-response-sign",
        "couplings enter the linear response of TAP with the wrong sign",
        f"{INFERENCE}/tap.py",
        "inverse = -scale[:, np.newaxis] * off * scale",
        "inverse = scale[:, np.newaxis] * off * scale",
        (f"{TESTS}/test_infer.py::test_sparse_couplings_say_what_dense_ones_do",),
    ),
    Mutation(
        "bethe-response-sign",
        "linear response of belief propagation has the wrong sign off the diagonal",
        f"{INFERENCE}/belief_propagation.py",
        "inverse = couplings.on_edges(diagonal, -off)",
        "inverse = couplings.on_edges(diagonal, off)",
        (f"{TESTS}/test_identities.py::test_belief_propagation_is_exact_on_trees",),
    ),
    Mutation(
        "bethe-spins-counted-twice",
        "of every edge, one of its spins is not taken off the log partition function",
        f"{INFERENCE}/belief_propagation.py",
        "(self.pairs.log_sum - spins[i] - spins[j]).sum()",
        "(self.pairs.log_sum - spins[i]).sum()",
        (f"{TESTS}/test_identities.py::test_belief_propagation_is_exact_on_trees",),
    ),
    Mutation(
        "energy-of-pairs-twice",
        "log weights of states count every pair twice",
        f"{INFERENCE}/exact.py",
        'return 0.5 * np.einsum("si,si->s", states @ J, states) + states @ fields',
        'return np.einsum("si,si->s", states @ J, states) + states @ fields',
        (f"{TESTS}/test_exact.py::test_small_grid",),
    ),
    Mutation(
        "row-weights-lost",
        "the pseudo-likelihood counts every row once",
        f"{INFERENCE}/pseudo_likelihood.py",
        "value -= np.sum(weights * losses)",
        "value -= np.sum(losses)",
        (f"{TESTS}/test_pseudo_likelihood.py",),
    ),
    Mutation(
        "gradient-not-symmetric",
        "couplings move by what one spin of a pair says",
        f"{INFERENCE}/pseudo_likelihood.py",
        "return value, of_fields, products + products.T",
        "return value, of_fields, products",
        (
            f"{TESTS}/test_pseudo_likelihood.py::test_gradients_are_differences_of_values",
        ),
    ),
    Mutation(
        "gibbs-field-halved",
        "spins go up with the probability of half their field",
        "odalib/kernels/reference/pairwise.py",
        "expit(2.0 * field)",
        "expit(field)",
        (
            "tests/kernels/test_pairwise_compiled.py"
            "::test_a_spin_goes_up_with_the_probability_of_its_field",
            "tests/kernels/test_pairwise_compiled.py::test_the_same_spins_are_drawn",
        ),
    ),
)
