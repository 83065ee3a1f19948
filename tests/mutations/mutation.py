"""What a mutation is: one named break of the library, and the tests to catch it."""

from dataclasses import dataclass

__all__ = ["Mutation"]


@dataclass(frozen=True)
class Mutation:
    """One break of one file.

    Attributes
    ----------
    name : str
        As the command line takes it.
    breaks : str
        What is wrong afterwards, in words.
    path : str
        File, from the root of the tree.
    before, after : str
        Text that stands exactly once in the file, and what takes its place.
    tests : tuple of str
        Files or node ids that must catch it, as pytest takes them.
    family : str, default=None
        Family of compiled kernels that has to be built again.
    """

    name: str
    breaks: str
    path: str
    before: str
    after: str
    tests: tuple[str, ...]
    family: str | None = None

    def applied(self, text):
        """Text of the file with the break in it.

        Raises
        ------
        ValueError
            Where what is to be replaced does not stand there exactly once.
        """
        found = text.count(self.before)
        if found != 1:
            raise ValueError(
                f"Mutation {self.name!r} replaces {self.before!r}, which stands "
                f"{found} times in {self.path} and must stand there once. Bring the "
                "mutation up to date with the file."
            )
        return text.replace(self.before, self.after)
