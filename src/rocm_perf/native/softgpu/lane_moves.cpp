#include "softgpu/lane_moves.h"

namespace rocm_perf::softgpu {
namespace {

constexpr int kNowhere = -1;

int within(int lane, int low, int high) { return lane >= low && lane < high ? lane : kNowhere; }

// The lane that `lane` takes its value from (LLVM, AMDGPU: DPP modifiers).
int source_lane(const LaneMoves& moves, int lane, int size) {
  int row = lane & ~15, place = lane & 15, amount = moves.amount;
  switch (moves.kind) {
    case LaneMoves::kNone:
      return lane;
    case LaneMoves::kQuadPerm:
      return (lane & ~3) + moves.lanes[lane & 3];
    case LaneMoves::kRowShiftLeft:
      return within(lane + amount, row, row + 16);
    case LaneMoves::kRowShiftRight:
      return within(lane - amount, row, row + 16);
    case LaneMoves::kRowRotateRight:
      return row + ((place - amount) & 15);
    case LaneMoves::kWaveShiftLeft:
      return within(lane + 1, 0, size);
    case LaneMoves::kWaveRotateLeft:
      return (lane + 1) % size;
    case LaneMoves::kWaveShiftRight:
      return within(lane - 1, 0, size);
    case LaneMoves::kWaveRotateRight:
      return (lane + size - 1) % size;
    case LaneMoves::kRowMirror:
      return row + 15 - place;
    case LaneMoves::kRowHalfMirror:
      return (lane & ~7) + 7 - (lane & 7);
    case LaneMoves::kRowBroadcast15:
      return row == 0 ? kNowhere : row - 1;
    case LaneMoves::kRowBroadcast31:
      return lane < 32 ? kNowhere : 31;
    case LaneMoves::kRowShare:
    case LaneMoves::kRowNewBroadcast:
      return row + amount;
    case LaneMoves::kRowXorMask:
      return row + (place ^ amount);
    case LaneMoves::kEight:
      return (lane & ~7) + moves.lanes[lane & 7];
  }
  return kNowhere;
}

bool is_valid(const Wave& wave, const LaneMoves& moves, int from) {
  return from != kNowhere && (moves.fetch_inactive || (wave.exec() >> from & 1));
}

}  // namespace

void move_lanes(const Wave& wave, const LaneMoves& moves, Register& values) {
  Register before = values;
  for (int lane = 0; lane < wave.size; ++lane) {
    int from = source_lane(moves, lane, wave.size);
    values.lane[lane] = is_valid(wave, moves, from) ? before.lane[from] : 0;
  }
}

uint64_t written_lanes(const Wave& wave, const LaneMoves& moves) {
  uint64_t mask = 0;
  for (int lane = 0; lane < wave.size; ++lane) {
    bool is_masked = (moves.row_mask >> (lane / 16) & 1) && (moves.bank_mask >> (lane / 4 % 4) & 1);
    bool has_source = moves.kind == LaneMoves::kEight || moves.zero_invalid ||
                      is_valid(wave, moves, source_lane(moves, lane, wave.size));
    if (is_masked && has_source) mask |= uint64_t{1} << lane;
  }
  return mask;
}

}  // namespace rocm_perf::softgpu
