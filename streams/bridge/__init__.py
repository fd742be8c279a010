"""Kafka to Temporal: each record is told to the actor that it is about, in order, and never lost.

    worker     the process: a consumer in a group, one `Tenure` for each assignment
    tenure     one assignment's time: records in, offsets out
    route      record -> actor and message                                  (pure)
    lanes      order per entity, one send in flight, waiting ones coalesce  (pure)
    offsets    how far a partition may be committed                         (pure)
    parked     which entities are parked, and how far they are re-driven    (pure)
    send       signal-with-start, and what its errors mean
    deliver    one batch to its end: taken, a dead letter, or the actor is full
    backlog    how much an actor has not yet taken in
    park       writes `fleet.parked.v1`
    aside      re-routes a record from the wrong partition, sets down a dead letter
    republish  writes records elsewhere in Kafka, in order (park and aside use it)
    reader     reads a stretch of the parking topic
    redrive    reads it back, in order, once the actor can take it in
    flow       which partitions rest, and why
    patience   waits the world's troubles out
    gauges     lag, age, latency, health

Nothing here knows what a fault is: rows in `gpuward.contracts.topics` and `gpuward.contracts.actors` say it all.
"""
