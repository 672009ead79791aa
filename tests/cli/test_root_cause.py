"""Tests of the root cause in the output of a failed Spark program."""

import pytest

from pyspark_pipeline.cli.root_cause import root_cause

_PY4J = """\
26/11/22 20:00:00 ERROR SparkContext: Error initializing SparkContext.
java.lang.IllegalStateException: pyspark_pipeline cannot start
\tat org.pysparkpipeline.PipelineDriverPlugin.init(PipelinePlugin.scala:27)
Traceback (most recent call last):
  File "/home/me/job.py", line 9, in <module>
    raise Py4JJavaError(
py4j.protocol.Py4JJavaError: An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.
: java.lang.reflect.InvocationTargetException
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: java.io.IOException: no space left on device
\t... 21 more
"""

_WORKER = """\
py4j.protocol.Py4JJavaError: An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent
 failure: Lost task 0.3 in stage 0.0 (TID 9) (host executor 1): org.apache.spark.api.python.PythonException: Traceback
  File "worker.py", line 5, in main
ModuleNotFoundError: No module named 'numba'

\tat org.apache.spark.api.python.BasePythonRunner.compute(PythonRunner.scala:200)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 5, in main
ModuleNotFoundError: No module named 'numba'

\t... 1 more
"""

_NO_JVM = """\
Exception in thread "main" java.lang.UnsupportedClassVersionError: compiled by a more recent version of Java
\tat java.base/java.lang.ClassLoader.defineClass1(Native Method)
Traceback (most recent call last):
pyspark.errors.exceptions.base.PySparkRuntimeError: [JAVA_GATEWAY_EXITED] Java gateway process exited.
"""


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        (_PY4J, "IOException: no space left on device"),
        (_WORKER, "ModuleNotFoundError: No module named 'numba'"),
        (_NO_JVM, "UnsupportedClassVersionError: compiled by a more recent version of Java"),
        ("noise\njava.lang.ClassNotFoundException: Plugin\n\tat x\n", "ClassNotFoundException: Plugin"),
        ("x\n: java.lang.NullPointerException\n\tat a.b.Error.c\n", "java.lang.NullPointerException"),
        ("[JAVA_GATEWAY_EXITED] no\n", None),
        ("", None),
    ],
    ids=["py4j", "worker", "no JVM", "plain", "no message", "no exception", "nothing"],
)
def test_root_cause_is_the_last_exception_with_a_message(output: str, cause: str | None) -> None:
    assert root_cause(output) == cause
