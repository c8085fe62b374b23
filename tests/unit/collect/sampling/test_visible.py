from __future__ import annotations

import pytest

from rocm_perf.backends.machine import FoundGpu
from rocm_perf.collect.sampling.visible import ordinals

AMD = [FoundGpu(index=index, vendor="AMD", gfx="gfx942", uuid=f"GPU-{index}ab") for index in range(4)]
NVIDIA = [FoundGpu(index=index, vendor="NVIDIA", gfx="sm_90", uuid=f"GPU-{index}cd") for index in range(4)]


@pytest.mark.parametrize(
    ("gpus", "environment", "expected"),
    [
        (AMD, {}, {0: 0, 1: 1, 2: 2, 3: 3}),
        (AMD, {"HIP_VISIBLE_DEVICES": "3,1"}, {3: 0, 1: 1}),
        (AMD, {"ROCR_VISIBLE_DEVICES": "2,3", "HIP_VISIBLE_DEVICES": "1"}, {3: 0}),
        (AMD, {"ROCR_VISIBLE_DEVICES": "GPU-2ab"}, {2: 0}),
        (AMD, {"CUDA_VISIBLE_DEVICES": "1"}, {1: 0}),
        (AMD, {"HIP_VISIBLE_DEVICES": "2", "CUDA_VISIBLE_DEVICES": "1"}, {2: 0}),
        (NVIDIA, {"CUDA_VISIBLE_DEVICES": "GPU-3, 0"}, {3: 0, 0: 1}),
        (NVIDIA, {"CUDA_VISIBLE_DEVICES": "1,9,0"}, {1: 0}),  # the runtime stops at the unknown one
        (NVIDIA, {"CUDA_VISIBLE_DEVICES": ""}, {}),
        (NVIDIA, {"CUDA_VISIBLE_DEVICES": "-1"}, {}),
        (NVIDIA, {"CUDA_VISIBLE_DEVICES": "GPU-"}, {}),  # names several
        (NVIDIA, {"HIP_VISIBLE_DEVICES": "1"}, {0: 0, 1: 1, 2: 2, 3: 3}),
        ([], {"CUDA_VISIBLE_DEVICES": "0"}, {}),
    ],
)
def test_masks(gpus: list[FoundGpu], environment: dict[str, str], expected: dict[int, int]) -> None:
    assert ordinals(gpus, environment) == expected
