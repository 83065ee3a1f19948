"""Breaks of annealing: kernels in NumPy, divergences, merging, trees, local models."""

from tests.mutations.mutation import Mutation

__all__ = ["MUTATIONS"]

KERNELS = "odalib/kernels/reference/annealing.py"
INFERENCE = "odalib/inference/annealing"
TESTS = "tests/inference/annealing"
DIVERGENCES = f"{INFERENCE}/divergences.py"


def gradient_sign(name, before, after):
    """Sign of the gradient of a divergence."""
    return Mutation(
        f"gradient-sign-{name}",
        f"the gradient of the {name} divergence has the wrong sign",
        DIVERGENCES,
        before,
        after,
        (f"{TESTS}/test_bregman.py::test_gradient_is_the_derivative_of_phi",),
    )


MUTATIONS = (
    Mutation(
        "association-unshifted",
        "associations without log-sum-exp",
        KERNELS,
        "largest = logits.max(axis=0)",
        "largest = np.zeros(logits.shape[1])",
        ("tests/kernels/test_annealing.py::test_association_at_extreme_temperatures",),
    ),
    Mutation(
        "temperature-sign",
        "rows are associated with what is far",
        KERNELS,
        "beta = inverse_temperature\n",
        "beta = -inverse_temperature\n",
        ("tests/kernels/test_annealing.py::test_gibbs_association",),
    ),
    Mutation(
        "sample-weight-lost",
        "sums under the association do without the weights of rows",
        KERNELS,
        "    association *= row_weights\n",
        "",
        ("tests/kernels/test_annealing.py::test_gibbs_sums",),
    ),
    Mutation(
        "ties-to-the-last",
        "of equally near codevectors the last is taken",
        KERNELS,
        "labels = values.argmax(axis=1)",
        "labels = values.shape[1] - 1 - values[:, ::-1].argmax(axis=1)",
        ("tests/kernels/test_annealing.py::test_nearest_takes_the_first_of_equals",),
    ),
    Mutation(
        "axis-about-zero",
        "covariances are second moments",
        KERNELS,
        "axis = weighted_sums(association, rows) - mass[:, np.newaxis] * codevectors",
        "axis = weighted_sums(association, rows)",
        ("tests/kernels/test_annealing.py::test_gibbs_sums",),
    ),
    Mutation(
        "weights-never-forget",
        "a step adds to the weights of codevectors and takes nothing off",
        KERNELS,
        "step * (weight / batch_weight - weights)",
        "step * (weight / batch_weight)",
        (f"{TESTS}/test_stochastic.py::test_step_by_its_equations",),
    ),
    Mutation(
        "offset-sign",
        "phi of the codevectors enters divergences with the wrong sign",
        KERNELS,
        'offsets = np.einsum("ij,ij->i", gradients, inside) - divergence.phi(inside)',
        'offsets = np.einsum("ij,ij->i", gradients, inside) + divergence.phi(inside)',
        (f"{TESTS}/test_bregman.py::test_affine_form_is_the_closed_form",),
    ),
    gradient_sign(
        "squared_euclidean", "return 2.0 * points\n", "return -2.0 * points\n"
    ),
    gradient_sign(
        "mahalanobis",
        "return 2.0 * (points @ self.precision)",
        "return -2.0 * (points @ self.precision)",
    ),
    gradient_sign(
        "kullback_leibler", "return np.log(points, ", "return -np.log(points, "
    ),
    gradient_sign("itakura_saito", "return -1.0 / points", "return 1.0 / points"),
    gradient_sign(
        "logistic", "logit(self._inside(points))", "-logit(self._inside(points))"
    ),
    Mutation(
        "critical-temperature-halved",
        "the factor 2 of the critical temperature is lost",
        DIVERGENCES,
        "return 2.0 * vectors\n",
        "return vectors\n",
        (
            f"{TESTS}/test_bifurcation.py"
            "::test_closed_form_for_the_squared_euclidean_divergence",
        ),
    ),
    Mutation(
        "split-without-half",
        "both parts of a codevector have its whole weight",
        f"{INFERENCE}/bifurcation.py",
        "half = codebook.weights[chosen] / 2.0",
        "half = codebook.weights[chosen]",
        (f"{TESTS}/test_bifurcation.py::test_splitting_keeps_mean_and_weights",),
    ),
    Mutation(
        "merged-weight-not-summed",
        "of two that merge, the weight of the second is lost",
        f"{INFERENCE}/pairs.py",
        "self.weights[kept], self.weights[gone] = first + second, 0.0",
        "self.weights[kept], self.weights[gone] = first, 0.0",
        (
            f"{TESTS}/test_merging.py::test_merging_down_takes_the_least_rise_of_all_pairs",
        ),
    ),
    Mutation(
        "merged-point-of-the-other",
        "the mean of two that merge has their weights exchanged",
        f"{INFERENCE}/pairs.py",
        "(first * self.points[kept] + second * self.points[gone])",
        "(second * self.points[kept] + first * self.points[gone])",
        (
            f"{TESTS}/test_merging.py::test_merging_down_takes_the_least_rise_of_all_pairs",
        ),
    ),
    Mutation(
        "one-merged-too-many",
        "merging down ends one codevector too late",
        f"{INFERENCE}/merging.py",
        "while pairs.n_left > n_left:",
        "while pairs.n_left >= n_left:",
        (
            f"{TESTS}/test_merging.py::test_merging_down_takes_the_least_rise_of_all_pairs",
        ),
    ),
    Mutation(
        "rise-of-a-merge",
        "the cost of a merge counts the weight of one of the two alone",
        f"{INFERENCE}/merging.py",
        "return share * weights * _quadratic(",
        "return weights * _quadratic(",
        (
            f"{TESTS}/test_merging.py::test_rise_is_what_merging_two_cells_of_rows_costs",
        ),
    ),
    Mutation(
        "rise-of-those-joined",
        "what two cost together is added in the cost of the pairs of both",
        f"{INFERENCE}/merging.py",
        "- weights * between",
        "+ weights * between",
        (f"{TESTS}/test_merging.py::test_two_that_merged_cost_what_their_mean_costs",),
    ),
    Mutation(
        "exchange-gain-per-row",
        "what a split gains does not count how many rows it is of",
        f"{INFERENCE}/relocate.py",
        "gain = HALF_STEP * codebook.weights * axes.critical",
        "gain = HALF_STEP * axes.critical",
        (
            f"{TESTS}/test_relocate.py::test_a_pair_is_merged_where_splitting_another_gains_more",
        ),
    ),
    Mutation(
        "step-one-late",
        "the step of a batch is that of the next",
        f"{INFERENCE}/stochastic.py",
        "step_size(weights, ages[:-1], memory)",
        "step_size(weights, ages[1:], memory)",
        (f"{TESTS}/test_stochastic.py::test_a_pass_takes_the_rows_in_their_order",),
    ),
    Mutation(
        "free-energy-sign",
        "the temperature enters the free energy with the wrong sign",
        f"{INFERENCE}/path.py",
        "free_energy = (total_phi - temperature * moments.log_normaliser) / weight",
        "free_energy = (total_phi + temperature * moments.log_normaliser) / weight",
        (f"{TESTS}/test_free_energy.py::test_level_is_what_direct_evaluation_gives",),
    ),
    Mutation(
        "leaves-without-their-way",
        "probabilities of leaves are those within the last cell alone",
        f"{INFERENCE}/tree.py",
        "rows, parents, result, n_jobs, log=log\n",
        "rows, parents, result**0.0, n_jobs, log=log\n",
        (
            f"{TESTS}/test_tree.py"
            "::test_probability_of_leaves_is_the_product_along_the_way",
        ),
    ),
    Mutation(
        "descent-from-another-cell",
        "rows descend to the children of the next codevector",
        f"{INFERENCE}/tree.py",
        "parents = fruitful[quantiser.nearest(rows, n_jobs, parents)]",
        "parents = np.roll(fruitful, 1)[quantiser.nearest(rows, n_jobs, parents)]",
        (f"{TESTS}/test_tree.py::test_rows_descend_to_the_nearest_child",),
    ),
    Mutation(
        "slopes-not-shrunk",
        "slopes of cells are drawn to the global fit by one row, whatever the ridge",
        f"{INFERENCE}/local/linear_fits.py",
        "within + ridge * (pooled + least * unit)",
        "within + (pooled + least * unit)",
        (
            f"{TESTS}/test_regression_moments.py::test_local_models_are_least_squares_with_rows_of_the_global_fit",
        ),
    ),
    Mutation(
        "intercepts-not-shrunk",
        "intercepts of cells are not drawn to the global fit",
        f"{INFERENCE}/local/linear_fits.py",
        "share = sums.weight / (sums.weight + INTERCEPT_SHARE * ridge)",
        "share = np.sign(sums.weight)",
        (
            f"{TESTS}/test_regression_moments.py::test_local_models_are_least_squares_with_rows_of_the_global_fit",
        ),
    ),
    Mutation(
        "polish-away",
        "the polish leads away from what it climbs",
        f"{INFERENCE}/local/polish.py",
        "pull = within - association",
        "pull = association - within",
        (f"{TESTS}/local/test_polish.py::test_step_by_its_equations",),
    ),
)
