"""Pure reducers: (what is remembered, one record, its surroundings) → (what is remembered, the faults that come of it).

No clock, no environment, no Kafka: `now` and everything else that a rule needs is an argument.
"""
