"""`hansard web --team`: the pages and answers that a team's database can give, read-only; the others are refused with a reason."""
