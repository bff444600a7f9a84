# Two commands do everything on a fresh machine: `make demo` and `make test`.
GAME ?= connect_four
BIN := .venv/bin

.PHONY: help demo test check fix install clean

help:  ## this list
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 10

demo: .venv/ready  ## read, check and play a game: make demo GAME=tic_tac_toe (a bundled name or a path)
	@$(BIN)/ggp validate "$(GAME)"
	@$(BIN)/ggp match "$(GAME)"

test: check  ## everything that CI runs

check: .venv/ready  ## formatting, lint, types, tests and doctests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest

fix: .venv/ready  ## format and repair what ruff can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

install: .venv/ready  ## the virtual environment, the package and SWI-Prolog

.venv/ready: pyproject.toml scripts/bootstrap
	@scripts/bootstrap
	@touch $@

clean:  ## remove what the above made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
