"""A query of three fragments in this process, without Spark: the count of numbers below a million by last digit.

python examples/local_query.py [THREADS]
"""

import sys

from pyspark_pipeline.local import Conditions, LocalQuery
from pyspark_pipeline.local.aggregates import aggregate_call, merge_node, partial_node, references
from pyspark_pipeline.local.write import call, column, fields, fragment, literal, select, source
from pyspark_pipeline.plan.nodes import HashExchange, Range, SingleExchange


def last_digits():
    """Return the fragments: counts by instance, counts by digit, and all digits in one instance."""
    numbers = Range(output=fields("n:bigint"), input_id=0)
    n = column(numbers, "n")
    digits = select(numbers, digit=call("Remainder", "bigint", n, literal(10, "bigint"), evalMode="ANSI"), n=n)
    partial = partial_node(digits, [column(digits, "digit")], [aggregate_call("Count", column(digits, "n"))])
    final = merge_node(partial, "Final", source(partial.output))
    by_digit = HashExchange(keys=references(partial.output)[:1], num_partitions=2)
    return [
        fragment(1, partial, by_digit, instances=3, splits={0: (0, 1_000_000, 1)}),
        fragment(2, final, SingleExchange(), instances=2, inputs={0: 1}),
        fragment(3, source(final.output), inputs={0: 2}),
    ]


def main():
    """Run the query over a slow transport that reorders requests, and print the number of requests."""
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    query = LocalQuery(last_digits(), threads=threads, conditions=Conditions(latency=5, jitter=20, seed=1))
    print(f"{len(query.group.instances)} instances, {len(query.group.drivers)} drivers, {threads} threads")
    for digit, count in sorted(zip(*(values.to_pylist() for values in query.table().columns), strict=True)):
        print(f"digit {digit}: {count}")
    for name, metrics in query.metrics().items():
        if "exchange" in metrics:
            print(f"{name} sent {metrics['exchange']['requests']} requests")


if __name__ == "__main__":
    main()
