# The same Jacobi iterations, with one wait in a hundred: the mended twin of jacobi_synced.jl.
# Not run yet: neither Julia nor an AMD GPU was at hand (see README.md).
#   rocm-perf profile --preset sys -- julia jacobi_batched.jl
using AMDGPU

const SIZE = 512
const STEPS = 2_000
const CHECK_EVERY = 100

function relax!(new, old)
    x = workitemIdx().x + (workgroupIdx().x - 1) * workgroupDim().x
    y = workitemIdx().y + (workgroupIdx().y - 1) * workgroupDim().y
    if 1 < x < size(old, 1) && 1 < y < size(old, 2)
        @inbounds new[x, y] = (old[x - 1, y] + old[x + 1, y] + old[x, y - 1] + old[x, y + 1]) / 4
    end
    return
end

function solve(steps)
    old = AMDGPU.zeros(Float32, SIZE, SIZE)
    old[1, :] .= 1.0f0
    new = copy(old)
    groups = (cld(SIZE, 16), cld(SIZE, 16))
    residual = Inf32
    for step in 1:steps
        @roc groupsize = (16, 16) gridsize = groups relax!(new, old)
        if step % CHECK_EVERY == 0
            residual = maximum(abs.(new .- old))  # the only wait: the host needs the number here
        end
        old, new = new, old
    end
    return residual
end

solve(10)  # compiles
println("residual ", solve(STEPS))
