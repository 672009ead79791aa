"""SQL files whose results on Spark and on the pipeline engine must be equal, with an assertion of conversion."""
