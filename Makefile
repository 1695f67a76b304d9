# laggard: `make help` lists the targets. MODE=release|debug|asan|ubsan|tsan|coverage|fuzz|seeded chooses the build, in build/MODE.

MODE ?= release
B := build/$(MODE)
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
PREFIX ?= /usr/local
ZSH_FUNCTIONS ?= $(PREFIX)/share/zsh/site-functions
CC ?= gcc
ifeq ($(MODE),fuzz)
CC := clang
endif
PKG_CONFIG ?= pkg-config

OPTIMISE_release := -O2 -g
OPTIMISE_debug := -O0 -g3
OPTIMISE_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
OPTIMISE_ubsan := -O1 -g -fsanitize=undefined -fno-sanitize-recover=all
OPTIMISE_tsan := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
OPTIMISE_seeded := -O2 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPTIMISE_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -DFUZZ_BY_LIBFUZZER
# Instrumented code keeps gcc 12 from seeing what lengths are possible: these two then warn of what cannot be.
WARNINGS_asan := -Wno-format-truncation -Wno-restrict
WARNINGS_ubsan := $(WARNINGS_asan)
WARNINGS_tsan := $(WARNINGS_asan)
WARNINGS_seeded := $(WARNINGS_asan)
# clang finds members missing in rows that name some of theirs and not others, and does not know gcc's ivdep and gcc's way of a list
# behind a kernel header's struct.
WARNINGS_fuzz := -Wno-missing-field-initializers -Wno-unknown-pragmas -Wno-gnu-variable-sized-type-not-at-end
OPTIMISE_coverage := -O0 -g --coverage
OPTIMISE := $(OPTIMISE_$(MODE))
ifeq ($(OPTIMISE),)
$(error MODE=$(MODE) is not one of release, debug, asan, ubsan, tsan, coverage, fuzz, seeded)
endif

# Of what is installed: libc's checks of lengths, and tables of functions that are read-only once the program runs.
ifeq ($(MODE),release)
HARDENING := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong
HARDENED_LINK := -Wl,-z,relro,-z,now
endif

WARNINGS := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla -Wformat=2 -Wundef $(WARNINGS_$(MODE))
CFLAGS_ALL := -std=gnu17 $(OPTIMISE) $(HARDENING) $(WARNINGS) -ffp-contract=off -pthread -D_GNU_SOURCE -I. -Iharness -ffile-prefix-map=$(CURDIR)=. $(CFLAGS)
LDFLAGS_ALL := $(OPTIMISE) $(HARDENED_LINK) -pthread $(LDFLAGS)

# One owner for each third-party header (tests/check-includes holds the list); everyone links what they own.
NL_CFLAGS = $(shell $(PKG_CONFIG) --cflags libnl-3.0 libnl-route-3.0)
NL_LIBS = $(shell $(PKG_CONFIG) --libs libnl-route-3.0 libnl-3.0)
CONTROLLER_LIBS = $(NL_LIBS) -lpcap -lsqlite3 -lyaml -lcap-ng -lseccomp -lnettle -lz -ldl -lm
# Statically: little of each is used, and each shared library lengthens every agent's start by up to 0.1 ms.
# All symbols are found at the start, once for all forks.
AGENT_LIBS = -Wl,-Bstatic -lcap-ng -lseccomp -lnettle -lz -Wl,-Bdynamic -ldl -lm

SOURCES_base := $(wildcard harness/base/*.c)
SOURCES_schemas := $(wildcard schemas/*.c)
SOURCES_netem := $(wildcard netem/*.c)
SOURCES_agents := $(filter-out agents/main.c,$(wildcard agents/*.c agents/*/*.c))
SOURCES_results := $(wildcard results/*.c)
SOURCES_harness := $(filter-out harness/main.c,$(wildcard harness/*.c))
PARTS := harness results agents netem schemas base
UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
UNIT_HELPERS := $(filter-out $(UNIT_SOURCES),$(wildcard tests/unit/*.c))
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.c)
TOOL_SOURCES := $(wildcard tests/netns/*.c tests/bench/*.c)

objects = $(patsubst %.c,$(B)/%.o,$(1))
LIBRARIES := $(foreach part,$(PARTS),$(B)/lib$(part).a)
PROGRAMS := $(B)/laggard $(B)/laggard-agent
UNIT_PROGRAMS := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(UNIT_SOURCES))
FUZZ_PROGRAMS := $(patsubst tests/fuzz/%.c,$(B)/tests/fuzz/%,$(FUZZ_SOURCES))
TOOL_PROGRAMS := $(patsubst %.c,$(B)/%,$(TOOL_SOURCES))

# Where make was not told how many compilers may run at a time: as many as there are processors.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 1))

.DEFAULT_GOAL := all
.PHONY: all
all: | deps ## build laggard and laggard-agent
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) programs

# Behind `all`, not beside it: two makes at a time would write the same libraries.
.PHONY: tests
tests: all ## build the programs of the tests and benchmarks, too
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) test-programs

.PHONY: programs test-programs fuzz-programs
programs: $(PROGRAMS)
fuzz-programs: $(FUZZ_PROGRAMS)
test-programs: $(UNIT_PROGRAMS) $(FUZZ_PROGRAMS) $(TOOL_PROGRAMS)

define library_rule
$(B)/lib$(1).a: $(call objects,$(SOURCES_$(1)))
	@mkdir -p $$(@D)
	@rm -f $$@
	$(Q)$(AR) rcs $$@ $$^
endef
$(foreach part,$(PARTS),$(eval $(call library_rule,$(part))))

# What shared objects with schemes may call beside the world's operations: errors, random streams, mathematics that is the same everywhere.
EXPORTS := $(foreach glob,err_* rng_* detmath_*,-Wl,--export-dynamic-symbol='$(glob)')

$(B)/laggard: $(B)/harness/main.o $(LIBRARIES)
	@echo "  LINK  $@"
	$(Q)$(CC) $(LDFLAGS_ALL) $(EXPORTS) -o $@ $^ $(CONTROLLER_LIBS)

$(B)/laggard-agent: $(B)/agents/main.o $(B)/libagents.a $(B)/libschemas.a $(B)/libbase.a
	@echo "  LINK  $@"
	$(Q)$(CC) $(LDFLAGS_ALL) -Wl,-z,now $(EXPORTS) -o $@ $^ $(AGENT_LIBS)

# What several unit tests share: a library, so that a test links only what it uses.
$(B)/tests/unit/libhelpers.a: $(call objects,$(UNIT_HELPERS))
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(B)/tests/unit/%: $(B)/tests/unit/%.o $(B)/tests/unit/libhelpers.a $(LIBRARIES)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcmocka $(CONTROLLER_LIBS)

$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(LIBRARIES)
	$(Q)$(CC) $(LDFLAGS_ALL) $(if $(filter fuzz,$(MODE)),-fsanitize=fuzzer) -o $@ $^ $(EXTRA_LIBS) $(CONTROLLER_LIBS)

$(B)/tests/netns/%: $(B)/tests/netns/%.o $(LIBRARIES)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(CONTROLLER_LIBS)

$(B)/tests/bench/%: $(B)/tests/bench/%.o $(LIBRARIES)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(CONTROLLER_LIBS)

$(B)/tests/fuzz/fuzz_database: EXTRA_LIBS = -lcmocka # of the fixture
$(B)/netem/%.o $(B)/tests/unit/%.o $(B)/tests/fuzz/%.o $(B)/tests/netns/%.o: EXTRA_CFLAGS = $(NL_CFLAGS)

VERSION := 0.1.0
REVISION := $(shell git describe --always --dirty --exclude '*' 2>/dev/null || echo unknown)
$(B)/harness/build_info.o: EXTRA_CFLAGS = -DLAGGARD_VERSION='"$(VERSION)"' -DLAGGARD_REVISION='"$(REVISION)"' \
	-DLAGGARD_FLAGS='"$(notdir $(CC)) $(strip $(OPTIMISE) $(CFLAGS))"' -DLAGGARD_MODE='"$(MODE)"'
$(B)/agents/main.o: EXTRA_CFLAGS = -DLAGGARD_VERSION='"$(VERSION)"'
$(B)/harness/build_info.o: $(B)/revision
$(B)/revision: FORCE
	@mkdir -p $(@D)
	@echo '$(REVISION)' | cmp -s - $@ || echo '$(REVISION)' > $@
.PHONY: FORCE
FORCE:

$(B)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CFLAGS_ALL) $(EXTRA_CFLAGS) -MMD -MP -c -o $@ $<

# The schema's text is assembled into the store.
$(B)/results/schema_sql.o: $(wildcard schemas/results*.sql)

.PHONY: deps
deps: ## install missing Debian packages (root or sudo; otherwise prints the command)
	@tests/install-deps

.PHONY: check
check: | deps ## build and run every test that this host can run; says what it skipped and why
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) programs test-programs
	$(Q)DOWNLOAD_SECONDS=60 tests/install-deps check || echo "make check goes on without it" >&2
	$(Q)tests/vm/prepare
	$(Q)tests/browser/prepare
	$(Q)LAGGARD_BUILD=$(B) tests/run-check

.PHONY: check-vm
check-vm: ## engine netem in an emulated machine with Debian's kernel (installs the emulator, downloads the kernel)
	@tests/install-deps vm
	$(Q)tests/vm/fetch-kernel
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) programs test-programs
	$(Q)LAGGARD_BUILD=$(B) tests/run-check vm

.PHONY: check-recipes
check-recipes: ## the recipes for iperf3, Open MPI and Gloo of docs/outside-programs.md (installs these)
	@tests/install-deps recipes
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) programs
	$(Q)LAGGARD_BUILD=$(B) prove -e '' tests/e2e/recipes.t

.PHONY: check-slurm
check-slurm: ## docs/cluster.md on a Slurm of one node (installs it)
	@tests/install-deps slurm
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) programs
	$(Q)LAGGARD_BUILD=$(B) prove -e '' tests/cluster/check-slurm

.PHONY: check-deb
check-deb: ## the package on a clean Debian 12 in a folder: lintian, install, run, purge (installs debootstrap and lintian; root)
	@tests/install-deps package
	$(Q)$(MAKE) --no-print-directory deb
	$(Q)LAGGARD_BUILD=$(B) prove -e '' tests/package/check-deb

.PHONY: demo
demo: all ## the study ring-or-server: 36 trials on shaped links, under two minutes, into ring-or-server.db
	$(B)/laggard run docs/studies/ring-or-server/campaign.yaml
	@echo "Every timing is in ring-or-server.db; a page with pictures of it (gnuplot): $(B)/laggard report ring-or-server.db -o ring-or-server.html"

.PHONY: bench
bench: | deps ## print the figures that laggard promises, measured beside their targets
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) programs test-programs
	$(Q)LAGGARD_BUILD=$(B) tests/bench/run

.PHONY: bench-peers
bench-peers: ## our all-reduces beside Gloo's and Open MPI's in the same emulated network (installs these)
	@tests/install-deps recipes
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) programs
	$(Q)LAGGARD_BUILD=$(B) tests/bench/peers

.PHONY: bench-mininet
bench-mininet: ## how long Mininet takes to set a network up, beside laggard (installs Mininet)
	@tests/install-deps mininet
	$(Q)$(MAKE) --no-print-directory bench BENCH=mininet

.PHONY: bench-simgrid
bench-simgrid: ## the virtual world beside SimGrid, the same network and messages: how fast, and how far from emulated rounds (installs SimGrid)
	@tests/install-deps simgrid
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) programs
	$(Q)LAGGARD_BUILD=$(B) tests/bench/simgrid

.PHONY: asan ubsan tsan coverage fuzz
# What they run: tiers of tests/run-check or single tests, as in SANITIZED="netns e2e/faults" make tsan. More than the default takes hours.
asan ubsan: SANITIZED ?= unit fuzz
tsan: SANITIZED ?= $(addprefix unit/test_,compute_thread emulated emulated_compute emulated_sizes)
# Single unit tests need no more than themselves.
sanitized_goals = $(if $(filter-out unit/%,$(SANITIZED)),programs test-programs,$(patsubst unit/%,build/$(1)/tests/unit/%,$(SANITIZED)))
asan: | deps ## the unit tests and fuzz targets, or SANITIZED (unit fuzz netns e2e), under the address and undefined behaviour sanitizers
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) MODE=asan $(call sanitized_goals,asan)
	$(Q)ASAN_OPTIONS=detect_stack_use_after_return=1:$$ASAN_OPTIONS LAGGARD_BUILD=build/asan tests/run-check $(SANITIZED)
ubsan: | deps ## the same under the undefined behaviour sanitizer alone, faster and in less memory
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) MODE=ubsan $(call sanitized_goals,ubsan)
	$(Q)LAGGARD_BUILD=build/ubsan tests/run-check $(SANITIZED)
# setarch: the sanitizer refuses layouts of memory that newer kernels choose at random.
tsan: | deps ## the unit tests of the compute thread and the emulated world, or SANITIZED, under the thread sanitizer
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) MODE=tsan $(call sanitized_goals,tsan)
	$(Q)LAGGARD_BUILD=build/tsan setarch -R tests/run-check $(SANITIZED)
ifdef FUZZ_SEEDED
fuzz: | deps # the fuzz targets by their own driver, under both sanitizers, until each has been given FUZZ_SEEDED inputs
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) MODE=seeded fuzz-programs
	$(Q)tests/fuzz/run-seeded
else
fuzz: | deps ## the fuzz targets guided by libFuzzer, under both sanitizers, FUZZ_SECONDS (20) each (installs clang)
	$(Q)tests/install-deps fuzz
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) MODE=release fuzz-programs
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) MODE=fuzz fuzz-programs
	$(Q)tests/fuzz/run-guided
endif
coverage: | deps ## line coverage of make check's tests, or of COVERED (unit e2e/gate ...), by gcov, one line a source file, and of all
	$(Q)$(MAKE) --no-print-directory $(PARALLEL) MODE=coverage programs test-programs
	$(Q)LAGGARD_BUILD=build/coverage tests/run-check $(COVERED)
	$(Q)cd build/coverage && find . -name '*.gcda' -exec gcov -n {} + 2>/dev/null | awk -F "'" '/^File/ { file = $$2 } \
		/^Lines/ && file ~ /^(\.\/)?(harness|schemas|netem|agents|results)\// { split($$0, part, /[:%]| of /); \
		printf "%6.2f%% of %5d lines  %s\n", part[2], part[4], file; hit += part[2] * part[4] / 100; all += part[4]; file = "" } \
		END { if (all) printf "%6.2f%% of %d lines of all\n", 100 * hit / all, all }'

.PHONY: pages
pages: all ## write anew what docs/ have from the program: fields (laggard-campaign.5), answers, queries by name and columns (sql.md)
	$(Q)LAGGARD_BUILD=$(B) tests/check-man --update
	$(Q)LAGGARD_BUILD=$(B) tests/check-sql --update

.PHONY: tidy format
tidy: ## clang-tidy and cppcheck over all sources (uses what is installed)
	$(Q)tests/run-tidy
format: ## clang-format over all sources
	$(Q)git ls-files '*.c' '*.h' | xargs clang-format -i

# What a scheme in a shared object includes, and what that includes.
SCHEME_HEADERS = $(filter %.h,$(shell $(CC) -MM -std=gnu17 -I. -Iharness agents/node.h harness/base/err.h harness/base/detmath.h))

.PHONY: install
install: all ## copy the programs, man pages, completions and documentation below PREFIX (default /usr/local; DESTDIR is honoured)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/doc/laggard $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5
	install -m 755 $(B)/laggard $(B)/laggard-agent $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(wildcard docs/man/*.1) $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 $(wildcard docs/man/*.5) $(DESTDIR)$(PREFIX)/share/man/man5/
	install -m 644 README.md LICENSE $(DESTDIR)$(PREFIX)/share/doc/laggard/
	for header in $(SCHEME_HEADERS); do \
		install -D -m 644 "$$header" "$(DESTDIR)$(PREFIX)/include/laggard/$${header#harness/}" || exit 1; done
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(ZSH_FUNCTIONS) $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(B)/laggard completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/laggard
	$(B)/laggard completion zsh > $(DESTDIR)$(ZSH_FUNCTIONS)/_laggard
	$(B)/laggard completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/laggard.fish
	find docs -name '*.md' -o -name '*.yaml' -o -name '*.sh' -o -name '*.sql' -o -name '*.svg' -o -name '*.c' | while read -r file; do \
		install -D -m $$(test -x "$$file" && echo 755 || echo 644) "$$file" "$(DESTDIR)$(PREFIX)/share/doc/laggard/$$file" || exit 1; done

.PHONY: deb
deb: all ## a Debian package, build/deb/laggard_*.deb
	$(Q)harness/package/build-deb $(VERSION)

.PHONY: clean
clean: ## remove build/
	$(Q)rm -rf build

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

-include $(shell find build/$(MODE) -name '*.d' 2>/dev/null)
.SECONDARY:
