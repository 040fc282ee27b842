"""Deliberate faults, each of which breaks a rule of the write order. A check that finds none of them checks nothing."""

from tests.simulation.faults import claiming, dispatching, finishing, guarding, settling

FAULTS = dispatching.FAULTS | claiming.FAULTS | finishing.FAULTS | guarding.FAULTS | settling.FAULTS
