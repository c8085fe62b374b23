// Nothing of it is used: _Float16 is the compiler's own.
#pragma once
