"""SQL files that must give the same answer on Spark and on the pipeline engine, and prove that it ran them."""
