"""Which functions of CUDA and HIP synchronise, exchange or only compute. Names are those of the CUDA C++ Programming
Guide ("C++ Language Extensions"), the CUDA Math API and HIP's "C++ language extensions", which has the same names;
builtins are LLVM's for AMDGPU."""

from __future__ import annotations


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


BARRIERS = frozenset(
    _names("""
    __syncthreads __syncthreads_count __syncthreads_and __syncthreads_or __syncwarp sync arrive_and_wait
    barrier_arrive barrier_wait arrive wait wait_parity __builtin_amdgcn_s_barrier __builtin_amdgcn_wave_barrier
    __builtin_amdgcn_s_barrier_signal __builtin_amdgcn_s_barrier_wait __barrier_sync __nv_bar_sync
""")
)
FENCES = frozenset(
    _names(
        "__threadfence __threadfence_block __threadfence_system __builtin_amdgcn_fence atomic_thread_fence"
    )
)
_LANE_PREFIXES = ("__shfl", "__ballot", "__any", "__all", "__match", "__reduce", "__builtin_amdgcn_ds_bpermute",
                  "__builtin_amdgcn_ds_permute", "__builtin_amdgcn_mov_dpp", "__builtin_amdgcn_update_dpp",
                  "__builtin_amdgcn_readlane", "__builtin_amdgcn_readfirstlane", "__builtin_amdgcn_ds_swizzle",
                  "__builtin_amdgcn_permlane", "__builtin_amdgcn_ballot")  # fmt: skip
_LANE_NAMES = frozenset(
    _names("""
    __activemask __lane_id __builtin_amdgcn_mbcnt_lo __builtin_amdgcn_mbcnt_hi shfl shfl_up shfl_down shfl_xor
    ballot any all match_any match_all coalesced_threads tiled_partition
""")
)
_ATOMIC_PREFIXES = ("atomic", "__atomic_", "__hip_atomic_", "unsafeAtomic", "safeAtomic")
_ATOMIC_METHODS = frozenset(_names("fetch_add fetch_sub fetch_min fetch_max fetch_and fetch_or fetch_xor"))

# Reads and arithmetic: they touch nothing that another thread could see.
_SINGLE = _names("""
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf erfc erfcinv erfcx erfinv exp
    exp10 exp2 expm1 fabs fdim fdivide floor fma fmax fmin fmod frexp hypot ilogb j0 j1 ldexp lgamma log log10 log1p
    log2 logb modf nearbyint nextafter normcdf pow rcbrt remainder rhypot rint round rsqrt scalbn sin sinh sinpi sqrt
    tan tanh tgamma trunc y0 y1 lrint lround llrint llround isnan isinf isfinite signbit nan
""")
_FAST = _names("""
    __expf __exp10f __logf __log2f __log10f __sinf __cosf __tanf __powf __fdividef __sincosf __saturatef
    __frcp_rn __fsqrt_rn __fdiv_rn __fadd_rn __fsub_rn __fmul_rn __fmaf_rn __frsqrt_rn __dadd_rn __dmul_rn
    __fma_rn __drcp_rn __dsqrt_rn __ddiv_rn
""")
_INTEGER = _names("""
    abs labs llabs min max umin umax __mulhi __umulhi __mul24 __umul24 __clz __clzll __ffs __ffsll __popc
    __popcll __brev __brevll __byte_perm __funnelshift_l __funnelshift_r __sad __usad __dp4a __hadd __rhadd
    __uhadd __urhadd
""")
_CONVERSION = _names("""
    __float2half __half2float __float2half_rn __float22half2_rn __half22float2 __low2float __high2float
    __halves2half2 __float2int_rn __float2int_rz __float2uint_rn __int2float_rn __uint2float_rn __float_as_int
    __int_as_float __float_as_uint __uint_as_float __double_as_longlong __longlong_as_double __float2bfloat16
    __bfloat162float __hadd __hsub __hmul __hdiv __hfma __hadd2 __hsub2 __hmul2 __hfma2 __hmax __hmin hexp hlog hsqrt
    hrsqrt
""")
_OTHER = _names("""
    __ldg __ldcg __ldca __ldcs __ldlu __ldcv static_cast reinterpret_cast const_cast bit_cast make_float2
    make_float3 make_float4 make_int2 make_int3 make_int4 make_uint2 make_uint4 make_double2 make_double4 make_char4
    make_half2 dim3 sizeof __builtin_expect __builtin_assume
    int float double unsigned size_t long short char bool half __half uint32_t int32_t uint64_t int64_t numeric_limits
    lowest infinity epsilon this_thread_block thread_rank size group_index thread_index
    __builtin_amdgcn_workitem_id_x __builtin_amdgcn_workitem_id_y __builtin_amdgcn_workgroup_id_x
    __builtin_amdgcn_workgroup_id_y __builtin_elementwise_fma
""")
CLOCKS = frozenset(_names("clock clock64 wall_clock64 __builtin_readcyclecounter __builtin_amdgcn_s_memtime"))
COMPUTES = frozenset(
    (
        *_SINGLE,
        *(f"{name}f" for name in _SINGLE),
        *_FAST,
        *_INTEGER,
        *_CONVERSION,
        *_OTHER,
        "sincos",
        "sincosf",
    )
)


def is_barrier(name: str) -> bool:
    """Whether threads of a block or a grid wait there for one another."""
    return name in BARRIERS


def is_atomic(name: str) -> bool:
    """Whether it reads and changes memory in one step."""
    return name.startswith(_ATOMIC_PREFIXES) or name in _ATOMIC_METHODS


def is_lane_operation(name: str) -> bool:
    """Whether threads of a wave exchange values there, or vote."""
    return name.startswith(_LANE_PREFIXES) or name in _LANE_NAMES


def is_known(name: str) -> bool:
    """Whether what a function does is known by its name."""
    return (
        name in COMPUTES or name in FENCES or is_barrier(name) or is_atomic(name) or is_lane_operation(name)
    )
