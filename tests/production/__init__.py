"""`make prod-test`: the pods of the chart as processes with networks of their own, under load."""
