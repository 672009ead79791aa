# make demo   TPC-H scale 1, one job through spark-submit without and with the extension
# make test   the whole test suite, on Spark 4.1: first what needs no session of the extension, then what does, then
#             what exchanges rows, with three drivers an instance
# make lint   ruff, mypy --strict, import floors
# make test-spark43   the SQL suite on Spark 4.3, each file in one combination of its matrix

PYTHON ?= python3
SOURCES = setup.cfg setup.py pyproject.toml build_backend/pipeline_build.py
EDITABLE = --config-settings editable_mode=compat --editable '.[dev]'
SCALE ?= 1
PROCESSES ?= 2
PARALLEL = aggregate or exchanges or unions or shuffled or ranges or window or several_cores

.PHONY: demo test lint test-spark43 clean

.venv/ready: $(SOURCES)
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet 'pyspark==4.1.*'
	.venv/bin/python -m pip install --quiet $(EDITABLE)
	touch $@

.venv-spark43/ready: $(SOURCES)
	$(PYTHON) -m venv .venv-spark43
	.venv-spark43/bin/python -m pip install --quiet 'pyspark==4.3.*'
	.venv-spark43/bin/python -m pip install --quiet $(EDITABLE)
	touch $@

demo: .venv/ready
	.venv/bin/python -m benchmarks.demo --scale $(SCALE)

test: .venv/ready
	.venv/bin/python -m pytest -n $(PROCESSES) $(PYTEST_ARGS) --ignore=tests/gold --ignore=tests/fuzz --ignore=tests/system
	.venv/bin/python -m pytest $(PYTEST_ARGS) tests/gold tests/fuzz tests/system
	.venv/bin/python -m pytest $(PYTEST_ARGS) tests/gold --task-cpus 3 --combinations one -k "$(PARALLEL)"

test-spark43: .venv-spark43/ready
	.venv-spark43/bin/python -m pytest tests/gold --combinations one -k "not to_pandas" $(PYTEST_ARGS)

lint: .venv/ready
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports

clean:
	rm -rf .venv .venv-spark43 build *.egg-info
