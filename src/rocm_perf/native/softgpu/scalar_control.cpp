#include <chrono>

#include "softgpu/decode.h"
#include "softgpu/failure.h"
#include "softgpu/registry.h"
#include "softgpu/scalar.h"

namespace rocm_perf::softgpu {
namespace {

void nothing(Wave&, const Instruction&) {}

void end_program(Wave& wave, const Instruction&) { wave.state = Wave::State::kEnded; }

void wait_at_barrier(Wave& wave, const Instruction&) { wave.state = Wave::State::kAtBarrier; }

void yield(Wave& wave, const Instruction&) { wave.state = Wave::State::kYielding; }

template <auto Condition>
void branch_if(Wave& wave, const Instruction& instruction) {
  if (Condition(wave)) wave.next = instruction.target;
}

void jump(Wave& wave, const Instruction& instruction, uint64_t address) {
  auto target = wave.program->numbers.find(address);
  if (target == wave.program->numbers.end()) fail_outside_code(wave, instruction);
  wave.next = target->second;
}

uint64_t following(const Instruction& instruction) { return instruction.pc + instruction.size; }

void get_pc(Wave& wave, const Instruction& instruction) {
  put_scalar(wave, instruction.operands[0], following(instruction));
}

void set_pc(Wave& wave, const Instruction& instruction) {
  jump(wave, instruction, scalar_source<uint64_t>(wave, instruction.operands[0]));
}

void swap_pc(Wave& wave, const Instruction& instruction) {
  uint64_t target = scalar_source<uint64_t>(wave, instruction.operands[1]);
  put_scalar(wave, instruction.operands[0], following(instruction));
  jump(wave, instruction, target);
}

void call(Wave& wave, const Instruction& instruction) {
  put_scalar(wave, instruction.operands[0], following(instruction));
  wave.next = instruction.target;
}

// The part of a hardware register that the encoding names: its number, the first bit and the number of bits.
struct HardwarePart {
  explicit HardwarePart(const Instruction& instruction)
      : number(instruction.word & 0x3fu),
        first(instruction.word >> 6 & 0x1fu),
        count((instruction.word >> 11 & 0x1fu) + 1) {}
  uint32_t mask() const { return lower(~0u, count) << first; }
  uint32_t number, first, count;
};

constexpr uint32_t kModeRegister = 1;
constexpr uint32_t kRounding = 0xf, kWideDenormals = 0xc0;

void set_mode(Wave& wave, const Instruction& instruction, uint32_t mode) {
  if (mode & kRounding) throw failed_at(instruction, "only rounding to the nearest is known to the executor");
  if ((mode & kWideDenormals) != kWideDenormals)
    throw failed_at(instruction, "denormals of 16 and 64 bits that are flushed are not known to the executor");
  wave.mode = mode;
}

void get_register(Wave& wave, const Instruction& instruction) {
  HardwarePart part(instruction);
  if (part.number != kModeRegister) throw failed_at(instruction, "only the MODE register is known to the executor");
  put_scalar(wave, instruction.operands[0], (wave.mode & part.mask()) >> part.first);
}

void set_register(Wave& wave, const Instruction& instruction) {
  HardwarePart part(instruction);
  if (part.number != kModeRegister) throw failed_at(instruction, "only the MODE register is known to the executor");
  uint32_t value = scalar_source<uint32_t>(wave, instruction.operands[1]);
  set_mode(wave, instruction, (wave.mode & ~part.mask()) | (value << part.first & part.mask()));
}

void set_rounding(Wave& wave, const Instruction& instruction) {
  set_mode(wave, instruction, (wave.mode & ~0xfu) | (instruction.word & 0xfu));
}

void set_denormals(Wave& wave, const Instruction& instruction) {
  set_mode(wave, instruction, (wave.mode & ~0xf0u) | (instruction.word & 0xfu) << 4);
}

// Time passes as it does on this machine: programs may only ask whether it does.
void read_clock(Wave& wave, const Instruction& instruction) {
  uint64_t ticks = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  put_scalar(wave, instruction.operands[0], ticks);
}

void trap(Wave&, const Instruction& instruction) { throw failed_at(instruction, "the kernel stopped itself"); }

bool is_vcc_zero(const Wave& wave) { return wave.lane_mask(kVcc) == 0; }

}  // namespace

Table scalar_control() {
  Table table = {
      {"s_endpgm", {end_program}},
      {"s_endpgm_saved", {end_program}},
      {"s_barrier", {wait_at_barrier}},
      {"s_sleep", {yield}},
      {"s_branch", {branch_if<[](const Wave&) { return true; }>}},
      {"s_cbranch_scc0", {branch_if<[](const Wave& wave) { return !wave.scc; }>}},
      {"s_cbranch_scc1", {branch_if<[](const Wave& wave) { return wave.scc; }>}},
      {"s_cbranch_vccz", {branch_if<[](const Wave& wave) { return is_vcc_zero(wave); }>}},
      {"s_cbranch_vccnz", {branch_if<[](const Wave& wave) { return !is_vcc_zero(wave); }>}},
      {"s_cbranch_execz", {branch_if<[](const Wave& wave) { return wave.exec() == 0; }>}},
      {"s_cbranch_execnz", {branch_if<[](const Wave& wave) { return wave.exec() != 0; }>}},
      {"s_getpc_b64", {get_pc}},
      {"s_setpc_b64", {set_pc}},
      {"s_swappc_b64", {swap_pc}},
      {"s_call_b64", {call}},
      {"s_getreg_b32", {get_register}},
      {"s_setreg_b32", {set_register}},
      {"s_setreg_imm32_b32", {set_register}},
      {"s_round_mode", {set_rounding}},
      {"s_denorm_mode", {set_denormals}},
      {"s_memtime", {read_clock}},
      {"s_memrealtime", {read_clock}},
      {"s_trap", {trap}},
  };
  // Hints, waits and cache control: everything here happens in order and at once.
  for (const char* name : {"s_nop",
                           "s_waitcnt",
                           "s_waitcnt_vscnt",
                           "s_waitcnt_vmcnt",
                           "s_waitcnt_lgkmcnt",
                           "s_waitcnt_expcnt",
                           "s_waitcnt_depctr",
                           "s_wait_idle",
                           "s_wait_event",
                           "s_delay_alu",
                           "s_clause",
                           "s_inst_prefetch",
                           "s_set_inst_prefetch_distance",
                           "s_setprio",
                           "s_sethalt",
                           "s_sendmsg",
                           "s_icache_inv",
                           "s_dcache_inv",
                           "s_dcache_wb",
                           "s_gl1_inv",
                           "s_ttracedata",
                           "s_ttracedata_imm",
                           "s_incperflevel",
                           "s_decperflevel",
                           "s_version",
                           "buffer_inv",
                           "buffer_wbl2",
                           "buffer_wbinvl1",
                           "buffer_wbinvl1_vol",
                           "buffer_invl2",
                           "buffer_gl0_inv",
                           "buffer_gl1_inv",
                           "v_nop"})
    table.emplace_back(name, Entry{nothing});
  return table;
}

}  // namespace rocm_perf::softgpu
