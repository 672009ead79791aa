# make demo   TPC-H scale 1, one job through spark-submit without and with the extension
# make test   the whole test suite, on Spark 4.1: what needs no session of the extension, then the SQL suite; beside them
#             launchers, faults, random queries, then the files that exchange rows with three drivers an instance (with
#             COMBINATIONS=one five of the files on aggregates and windows; with EVERY=8 an eighth of each file's statements and
#             of the tests of Python functions, of expressions at random, and of some jobs)
# make answers  records Spark's answers to the statements of the SQL suite on both versions (those that the engine
#             returns need not be computed by Spark then; PYTEST_ARGS=--answers=live computes all)
# make lint   ruff, mypy --strict, import floors
# make wheel  sdist and one wheel with the shim compiled for Spark 4.1 and 4.3, into dist/; two runs make the same bytes
# make test-spark43   the SQL suite on Spark 4.3, each file in one combination of its matrix: not the one that
#             COMBINATIONS=one takes on Spark 4.1, if the matrix has more (with EVERY43=16 a sixteenth of the statements, which
#             EVERY=8 leaves out on Spark 4.1)

PYTHON ?= python3
SOURCES = setup.cfg setup.py pyproject.toml build_backend/pipeline_build.py
EDITABLE = --config-settings editable_mode=compat --editable '.[dev]'
SCALE ?= 1
PROCESSES ?= 2
COMBINATIONS ?= all
EVERY ?= 1
EVERY43 ?= 1
EXCHANGES = exchanges or unions or shuffled or ranges or several_cores or limit_errors or placement_read or samples
DRIVERS_all = $(EXCHANGES) or aggregate or window
DRIVERS_one = $(EXCHANGES) or aggregate/basic or aggregate/distinct or aggregate/first_last or aggregate/keys or window/totals

.PHONY: answers demo test test-units test-gold test-system test-drivers units-then-gold system-then-drivers lint wheel test-spark43 clean

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

# An archive of Spark's classes halves what the start of a test's session costs; without it the tests run too.
%/spark-classes.jsa: %/ready
	-$*/bin/python -m tests.support.class_archive > $*/spark-classes.log 2>&1

demo: .venv/ready
	.venv/bin/python -m benchmarks.demo --scale $(SCALE)

test: .venv/spark-classes.jsa
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target units-then-gold system-then-drivers

units-then-gold:
	$(MAKE) --no-print-directory test-units
	$(MAKE) --no-print-directory test-gold

system-then-drivers:
	$(MAKE) --no-print-directory test-system
	$(MAKE) --no-print-directory test-drivers

test-units: .venv/spark-classes.jsa
	.venv/bin/python -m pytest -n $(PROCESSES) $(PYTEST_ARGS) --every $(EVERY) --ignore=tests/gold --ignore=tests/fuzz --ignore=tests/system --ignore=tests/plans

test-drivers: .venv/spark-classes.jsa
	.venv/bin/python -m pytest $(PYTEST_ARGS) tests/gold --task-cpus 3 --combinations one -k "($(DRIVERS_$(COMBINATIONS))) and not collect_list and not collect_set and not approximate_percentile"

test-gold: .venv/spark-classes.jsa
	.venv/bin/python -m pytest -n $(PROCESSES) $(PYTEST_ARGS) tests/gold --combinations $(COMBINATIONS) --every $(EVERY)

test-system: .venv/spark-classes.jsa
	.venv/bin/python -m pytest $(PYTEST_ARGS) tests/fuzz tests/system --every $(EVERY)
	.venv/bin/python -m pytest $(PYTEST_ARGS) tests/plans

test-spark43: .venv-spark43/spark-classes.jsa
	.venv-spark43/bin/python -m pytest tests/gold --combinations next --every $(EVERY43) -k "not to_pandas" $(PYTEST_ARGS)

answers: .venv/ready .venv-spark43/ready
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target answers-.venv answers-.venv-spark43

answers-%: %/spark-classes.jsa
	$*/bin/python -m pytest -q tests/gold/test_gold.py --vanilla --answers record $(PYTEST_ARGS)

wheel: .venv/ready .venv-spark43/ready
	.venv/bin/python build_backend/pipeline_release.py \
	  --spark .venv/lib/python3*/site-packages/pyspark --spark .venv-spark43/lib/python3*/site-packages/pyspark

lint: .venv/ready
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports

clean:
	rm -rf .venv .venv-spark43 build dist *.egg-info
