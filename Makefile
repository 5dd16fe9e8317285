# One command each; every one sets up .venv first where it is missing or out of date.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
GPU_PYTHON ?= $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON))

# A copied or moved checkout gets a stamp of another name, so that it does not use the .venv of the first.
STAMP := .venv/installed-$(shell pwd | cksum | cut -d' ' -f1)

# Installing in place maps each module to its file: one that was renamed or removed needs a new map.
GONE := $(shell cat .venv/modules 2>/dev/null | while read -r file; do test -e "$$file" || echo again; done | head -n 1)

# Every pip call, the isolated build included, stays on the pinned versions (older pip reads only the first name).
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_BUILD_CONSTRAINT := $(CURDIR)/constraints.txt

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-gpu check bench sanitize clean again

help:  ## this list
	@awk -F ':.*## *' '/^[a-z-]+:.*##/ { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP)  ## .venv with the package installed in place; then: .venv/bin/weyl

demo: $(STAMP)  ## a first embedding of a built-in graph, with scores and a picture
	$(BIN)/python examples/first_embedding.py

test: $(STAMP)  ## all tests; make test ARGS="tests/kernels -k zero" for some
	$(BIN)/python -m pytest $(ARGS)

test-gpu:  ## the kernels' tests on a CUDA device; needs torch, numpy and pytest, no installation, compiler or network
	@$(GPU_PYTHON) -c "import sys, torch; torch.cuda.is_available() or sys.exit('make test-gpu: torch sees no CUDA device')"
	PYTHONPATH=. $(GPU_PYTHON) -m pytest tests/kernels -k cuda $(ARGS)

check: $(STAMP)  ## lint, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)  ## all benchmarks
	$(BIN)/python -m benchmarks

sanitize:  ## the native code under the address, undefined-behaviour and thread sanitizers
	@mkdir -p build
	$(CXX) -std=c++17 -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all \
		native/svd_variant.cpp tests/native/check_svd.cpp -Inative -pthread -o build/check_svd_address
	build/check_svd_address
	$(CXX) -std=c++17 -g -O1 -fsanitize=thread \
		native/svd_variant.cpp tests/native/check_svd.cpp -Inative -pthread -o build/check_svd_thread
	build/check_svd_thread
	$(CXX) -std=c++17 -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all \
		native/pair_variant.cpp tests/native/check_pairs.cpp -Inative -pthread -o build/check_pairs_address
	build/check_pairs_address
	$(CXX) -std=c++17 -g -O1 -fsanitize=thread \
		native/pair_variant.cpp tests/native/check_pairs.cpp -Inative -pthread -o build/check_pairs_thread
	build/check_pairs_thread
	$(CXX) -std=c++17 -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all \
		native/pair_variant.cpp native/node_variant.cpp tests/native/check_descent.cpp -Inative -pthread \
		-o build/check_descent_address
	build/check_descent_address
	$(CXX) -std=c++17 -g -O1 -fsanitize=thread \
		native/pair_variant.cpp native/node_variant.cpp tests/native/check_descent.cpp -Inative -pthread \
		-o build/check_descent_thread
	build/check_descent_thread
	$(CXX) -std=c++17 -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all \
		tests/native/check_graphs.cpp -Inative -pthread -o build/check_graphs_address
	build/check_graphs_address

clean:  ## removes .venv and everything built
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt CMakeLists.txt $(wildcard native/*) $(GONE)
	@echo "setting up .venv (a minute or two the first time)"
	@test -e $@ || $(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install -qq --editable ".[test]"
	@find weyl -name '*.py' > .venv/modules
	@$(BIN)/python -c "from weyl.kernels.native import available; \
		print('compiled kernel:', 'yes' if available() else 'no, weyl will use pure torch')"
	@touch $@
