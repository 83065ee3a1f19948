"""Problems of two classes that make up one of many, as pictures name them."""

from numbers import Integral

__all__ = ["check_problem", "chosen_problems", "sides_of_problems"]

MOST_PROBLEMS = 10
REST = "the rest"


def sides_of_problems(estimator):
    """Negative and positive class of every problem, a list of pairs of str."""
    classes = [str(label) for label in estimator.classes_]
    return [
        (REST if problem.negative is None else classes[problem.negative], positive)
        for problem in estimator._decomposition.problems
        for positive in [classes[problem.positive]]
    ]


def chosen_problems(estimator, problems):
    """Numbers of the problems to draw, of a list or of all; a list of int.

    Raises
    ------
    ValueError
        For numbers that are none of problems, and where all are too many.
    """
    sides = sides_of_problems(estimator)
    if problems is None:
        if len(sides) > MOST_PROBLEMS:
            raise ValueError(
                f"There are {len(sides)} problems of two classes, more than fit into a "
                f"picture; choose some by problems, such as [0, {len(sides) - 1}]. "
                f"They are {_listed(sides)}."
            )
        return list(range(len(sides)))
    problems = list(problems)
    for problem in problems:
        check_problem(problem, sides)
    if not problems:
        raise ValueError("problems is empty; None draws all of them.")
    return problems


def check_problem(problem, sides):
    """Refuse what is no number of a problem.

    Raises
    ------
    ValueError
        It lists the problems there are.
    """
    is_number = isinstance(problem, Integral) and not isinstance(problem, bool)
    if not (is_number and 0 <= problem < len(sides)):
        raise ValueError(
            f"There is no problem {problem!r} of two classes; they are "
            f"{_listed(sides)}."
        )


def _listed(sides):
    named = [
        f"{number}: {positive} against {negative}"
        for number, (negative, positive) in enumerate(sides)
    ]
    if len(named) > MOST_PROBLEMS:
        named = [*named[: MOST_PROBLEMS - 1], "...", named[-1]]
    return ", ".join(named)
