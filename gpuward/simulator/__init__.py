"""A world of racks, nodes and GPUs that breaks as real ones do and obeys actions, for tests, demos and rehearsals.

layout.py      what stands where at the beginning, by a seed
durations.py   how long things take, and how much faster this world runs
state.py       everything that is true of the world now; written to a file by store.py
lines.py       the kernel log in the driver's grammar
world.py       time passes: what was begun comes to its end
acts.py        what can be asked of a machine; it counts every act and honours no idempotency key, as real BMCs do
faults.py      how it breaks                       misbehaviour.py   how it lies
views.py       what a host, a BMC and an agent see
app.py         the HTTP door; client.py speaks to it
"""
