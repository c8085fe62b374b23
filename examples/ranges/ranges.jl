# Ranges in the profiler's timeline from Julia, without a package:
#   rocm-perf profile --preset lightweight -- julia ranges.jl
using Libdl

# The newer library first (ROCm 6.2 and later), then the older one; without either, ranges do nothing.
const ROCTX = Libdl.find_library(
    ["librocprofiler-sdk-roctx", "libroctx64"], [joinpath(get(ENV, "ROCM_PATH", "/opt/rocm"), "lib")])

if isempty(ROCTX)
    push_range(name) = nothing
    pop_range() = nothing
    mark(text) = nothing
else
    push_range(name) = ccall((:roctxRangePushA, ROCTX), Cint, (Cstring,), name)
    pop_range() = ccall((:roctxRangePop, ROCTX), Cint, ())
    mark(text) = ccall((:roctxMarkA, ROCTX), Cvoid, (Cstring,), text)
end

"""A range around `work`. roctx keeps a stack per thread, so a task must not move to another thread inside it."""
function annotate(work, name)
    push_range(name)
    try
        return work()
    finally
        pop_range()
    end
end

annotate("training") do
    for step in 1:3
        annotate("step $step") do
            mark("launch")
            println("step ", step)  # the kernels of the step go here
        end
    end
end
