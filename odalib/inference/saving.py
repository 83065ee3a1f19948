"""What is saved of objects in a fitted state."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["SavesFields"]


class SavesFields:
    """Mixin of dataclasses: their fields are saved, and nothing derived from them.

    CSR matrices among them are saved as arrays, which loaders know that refuse all
    types but a few.
    """

    def __getstate__(self) -> dict[str, Any]:
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        values = [getattr(self, name) for name in names]
        plain = [_Arrays.of(v) if sp.issparse(v) else v for v in values]
        return dict(zip(names, plain, strict=True))

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            is_matrix = isinstance(value, _Arrays)
            self.__dict__[name] = value.matrix() if is_matrix else value


@dataclass(frozen=True)
class _Arrays:
    """Arrays of a CSR matrix; `is_matrix` for what is not a sparse array."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, int]
    is_matrix: bool

    @classmethod
    def of(cls, rows):
        is_matrix = isinstance(rows, sp.spmatrix)
        return cls(rows.data, rows.indices, rows.indptr, rows.shape, is_matrix)

    def matrix(self):
        kind = sp.csr_matrix if self.is_matrix else sp.csr_array
        return kind((self.data, self.indices, self.indptr), shape=self.shape)
