"""The words of SQL that editors of queries complete and highlight."""

KEYWORDS = (
    "SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT JOIN LEFT ON AS DISTINCT UNION ALL WITH CASE WHEN THEN ELSE END AND OR NOT NULL IS IN"
    " LIKE BETWEEN DESC count sum avg min max round substr length lower upper coalesce decimal_sum"
).split()
