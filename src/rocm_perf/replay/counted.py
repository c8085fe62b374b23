"""What the captured kernel does, counted while it is executed without a GPU."""

from __future__ import annotations

import msgspec

from rocm_perf.analysis.emulated.build import Observed
from rocm_perf.arch.codeobject.disassembly import Instruction, parse
from rocm_perf.model.results.count import Executed, Footprint, InstructionCount
from rocm_perf.replay.emulated import Emulator, workgroups_of
from rocm_perf.replay.plan import CAPTURED, Code, Options
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.runner import Task
from rocm_perf.softgpu import answer as softgpu
from rocm_perf.softgpu import plan as emulator
from rocm_perf.softgpu.code import LoadedCode


def observe(replayer: Replayer, code: Code | None, most_workgroups: int | None) -> Observed:
    """Execute the launch with the captured code, or with other code, and count. `most_workgroups`: of them, evenly
    spread; None: all."""
    dispatch = replayer.snapshot.dispatch
    task = Task(replayer.snapshot, replayer.files, replayer.work, Options(codes=(code,) if code else ()))
    runner = Emulator()
    loaded = runner.code(task)
    whole = workgroups_of(dispatch.grid, dispatch.workgroup)
    options = emulator.Options(
        timeout_s=replayer.timeout_s, counting=True, workgroups=sample(whole, most_workgroups)
    )
    answer = runner.execute(task, loaded, options)
    return Observed(
        kernel=dispatch.kernel,
        name=dispatch.name,
        code=str(code.path) if code else CAPTURED,
        device=msgspec.structs.replace(dispatch.device, gfx=loaded.arch),
        grid=dispatch.grid,
        workgroup=dispatch.workgroup,
        dynamic_lds_bytes=dispatch.dynamic_lds_bytes,
        resources=loaded.kernel(dispatch.kernel),
        executed=Executed(
            workgroups=answer.workgroups,
            of_workgroups=whole,
            waves=answer.waves,
            wave_size=answer.wave_size,
            seconds=answer.seconds,
        ),
        rows=_rows(answer, loaded),
        footprint=_footprint(answer),
    )


def sample(whole: int, most: int | None) -> tuple[range, ...]:
    """The numbers of the workgroups to execute, each in the middle of an equal part of the grid; nothing stands for
    all of them."""
    if most is None or most >= whole:
        return ()
    numbers = ((2 * part + 1) * whole // (2 * most) for part in range(most))
    return tuple(range(at, at + 1) for at in numbers)


def _rows(answer: softgpu.Answer, code: LoadedCode) -> tuple[InstructionCount, ...]:
    """The executed instructions with their texts and source lines, in the order of their addresses."""
    bodies = parse(code.listing.splitlines()).values()
    listed = {instruction.address: instruction for body in bodies for instruction in body}
    return tuple(_row(count, listed[count.address]) for count in answer.counts if count.address in listed)


def _row(count: softgpu.InstructionCount, instruction: Instruction) -> InstructionCount:
    return InstructionCount(
        address=count.address,
        text=instruction.text,
        file=instruction.file,
        line=instruction.line or None,
        executions=count.executions,
        lanes=count.lanes,
        bytes=count.bytes,
        lines_64=count.lines_64,
        lines_128=count.lines_128,
        lds_cycles=count.lds_cycles,
        lds_conflicts=count.lds_conflicts,
        same_address=count.same_address,
        scratch_bytes=count.scratch_bytes,
    )


def _footprint(answer: softgpu.Answer) -> Footprint | None:
    lines = answer.footprint
    if lines is None:
        return None
    return Footprint(
        line_bytes=lines.line_bytes, read=lines.read, written=lines.written, touched=lines.touched
    )
