"""The engine Spark, through PySpark."""
