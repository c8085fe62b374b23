"""One name for each collective, and what the names of kernels say."""

from __future__ import annotations

import pytest

from rocm_perf.ingest.collectives.names import KernelName, collective_name, kernel_name


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("allreduce", "all_reduce"),
        ("_allgather_base", "all_gather"),
        ("nccl:_reduce_scatter_base", "reduce_scatter"),
        ("ncclAllToAllv", "all_to_all"),
        ("all-reduce", "all_reduce"),
        ("collective-permute", "permute"),
        ("nccl:send 0->1", "send"),
        ("c10d::broadcast_", "broadcast"),
        ("all_reduce", "all_reduce"),
        ("symm_mem::multimem_all_reduce_", "all_reduce"),
        ("ncclGroupEnd", "ncclGroupEnd"),
        ("my own exchange", "my own exchange"),
    ],
)
def test_spellings(spelling: str, name: str) -> None:
    assert collective_name(spelling) == name


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            KernelName("all_reduce", "f32", "RING_LL"),
        ),
        ("ncclDevKernel_AllReduce_Sum_bf16_TREE_LL", KernelName("all_reduce", "bf16", "TREE_LL")),
        ("ncclDevKernel_AllGather_RING_LL(x)", KernelName("all_gather", None, "RING_LL")),
        ("ncclDevKernel_SendRecv(x)", KernelName("send_recv")),
        ("ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)", KernelName("unknown")),
        ("ncclDevKernel_Generic_1(x)", KernelName("unknown")),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", KernelName("all_reduce", "f32", "RING_LL")),
        # It moves bytes, whatever the type in its name.
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t(x)", KernelName("broadcast", None, "RING_LL")),
        ("ncclAllReduceRingLLKernel_sum_f32(ncclColl)", KernelName("all_reduce", "f32", "RING_LL")),
        ("void vllm::cross_device_reduce_2stage<half, 8>(x)", KernelName("all_reduce", None, "2stage")),
        (
            "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(x)",
            KernelName("all_reduce", None, "multimem"),
        ),
        ("void ns::allreduce_fusion_kernel_oneshot<half>(x)", KernelName("all_reduce")),
        ("void elementwise_kernel<AllGatherFunctor>(x)", None),
        ("mscclKernel_Sum_half_Simple", KernelName("unknown")),
        ("__amd_rocclr_fillBufferAligned", None),
        ("Cijk_Ailk_Bljk_BBS_BH_MT64x32x256", None),
    ],
)
def test_kernels(kernel: str, said: KernelName | None) -> None:
    assert kernel_name(kernel) == said
