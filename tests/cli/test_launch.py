"""Adding the extension keeps the user's own jars and plugins."""

from pathlib import Path

import pytest

from pyspark_pipeline.launch import PLUGIN, joined, launch_settings, merged_submit_args, submit_arguments

JAR = Path("/ours.jar")


@pytest.fixture(autouse=True)
def conf_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("present", "result"),
    [(None, "x"), ("", "x"), ("a", "a,x"), ("a, b", "a,b,x"), ("x,a", "x,a")],
)
def test_joined(present: str | None, result: str) -> None:
    assert joined(present, "x") == result


def test_submit_arguments_alone(tmp_path: Path) -> None:
    assert submit_arguments(JAR, tmp_path) == ["--jars", "/ours.jar", "--conf", f"spark.plugins={PLUGIN}"]


def test_submit_arguments_keep_settings_of_defaults_file(conf_dir: Path) -> None:
    text = "# comment\nspark.jars  a.jar,b.jar\nspark.plugins=their.Plugin\nspark.driver.memory: 2g\n"
    (conf_dir / "spark-defaults.conf").write_text(text)
    expected = ["--jars", "a.jar,b.jar,/ours.jar", "--conf", f"spark.plugins=their.Plugin,{PLUGIN}"]
    assert submit_arguments(JAR, conf_dir) == expected


def test_builder_settings_override_defaults_file(conf_dir: Path) -> None:
    (conf_dir / "spark-defaults.conf").write_text("spark.jars default.jar\n")
    settings = launch_settings({"spark.jars": "builder.jar"}, JAR, conf_dir)
    assert settings == {"spark.jars": "builder.jar,/ours.jar", "spark.plugins": PLUGIN}


def test_merged_submit_args_keeps_existing_arguments() -> None:
    text = "--jars a.jar --conf spark.plugins=p --conf 'spark.x=a b' --name jars pyspark-shell"
    merged = merged_submit_args(text, JAR)
    expected = f"--jars a.jar,/ours.jar --conf spark.plugins=p,{PLUGIN} --conf 'spark.x=a b' --name jars pyspark-shell"
    assert merged == expected
    assert merged_submit_args(merged, JAR) == merged
