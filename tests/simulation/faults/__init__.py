"""Deliberate faults, each of which breaks a rule of the order of writes. A check that finds none proves nothing."""

from tests.simulation.faults import (
    answering,
    claiming,
    depending,
    dispatching,
    finishing,
    following,
    guarding,
    hearing,
    holding,
    keeping,
    naming,
    operating,
    recording,
    repeating,
    rerunning,
    rewriting,
    settling,
    sharing,
    telling,
    trying,
    versions,
    watching,
)

FAULTS = (
    dispatching.FAULTS
    | claiming.FAULTS
    | trying.FAULTS
    | finishing.FAULTS
    | following.FAULTS
    | guarding.FAULTS
    | hearing.FAULTS
    | holding.FAULTS
    | keeping.FAULTS
    | operating.FAULTS
    | recording.FAULTS
    | repeating.FAULTS
    | rerunning.FAULTS
    | rewriting.FAULTS
    | settling.FAULTS
    | answering.FAULTS
    | watching.FAULTS
    | sharing.FAULTS
    | versions.FAULTS
    | depending.FAULTS
    | telling.FAULTS
    | naming.FAULTS
)
