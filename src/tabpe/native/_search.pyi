from typing import Any

import numpy as np
from numpy.typing import NDArray

class Index:
    def __init__(
        self, numbers: NDArray[np.float32], codes: NDArray[np.int32], weight: float
    ) -> None: ...
    def __len__(self) -> int: ...
    def nearest(
        self,
        numbers: NDArray[np.float32],
        codes: NDArray[np.unsignedinteger[Any]],
        *,
        k: int = 1,
        jobs: int = 1,
        kernel: str = "automatic",
        instruction_set: str = "",
    ) -> NDArray[np.int64]: ...

def spatial_order(
    numbers: NDArray[np.float32], codes: NDArray[np.int32], weight: float
) -> NDArray[np.int32]: ...
def first_equals(numbers: NDArray[np.float32], codes: NDArray[np.int32]) -> NDArray[np.int32]: ...
def find_pieces(
    values: NDArray[np.floating[Any]], ends: NDArray[np.float64]
) -> NDArray[np.int64]: ...
def map_by_pieces(
    values: NDArray[np.floating[Any]], ends: NDArray[np.float64], images: NDArray[np.float64]
) -> NDArray[np.floating[Any]]: ...
def scatter(
    cells: NDArray[np.int32], weights: NDArray[np.float64], size: int
) -> NDArray[np.float64]: ...
def scale(
    cells: NDArray[np.int32], weights: NDArray[np.float64], factors: NDArray[np.float64]
) -> NDArray[np.float64]: ...
def instruction_sets() -> list[str]: ...
