"""What can be done to a node, through whichever power it answers to.

recheck.py · await_session.py · validate.py     look
keep_off.py                                     cordon and uncordon
acts.py                                         evict, reset, reboot, power cycle: through the interlock, always
"""
