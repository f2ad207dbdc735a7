"""What a session cost, as SQL over the `sessions` table: to filter and to sort by. The exact amount is text in `session_costs`."""

COST = (
    "CASE WHEN api_messages = 0 THEN 0 ELSE"
    " (SELECT CAST(c.cost_usd AS REAL) FROM session_costs c WHERE c.session_id = sessions.session_id) END"
)
