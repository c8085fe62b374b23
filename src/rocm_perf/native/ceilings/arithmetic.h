// Rates of the vector units, and of AMD's matrix units, from registers alone.
#pragma once

#include "ceilings/chip.h"

namespace rocm_perf {

void measure_vector_units(const Chip& chip);
void measure_matrix_units(const Chip& chip);

}  // namespace rocm_perf
