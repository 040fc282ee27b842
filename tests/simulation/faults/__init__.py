"""Deliberate faults, each of which breaks a rule of the order of writes. A check that finds none proves nothing."""

from tests.simulation.faults import (
    answering,
    callbacks,
    claiming,
    depending,
    dispatching,
    finishing,
    following,
    freezes,
    guarding,
    latest,
    listing,
    naming,
    notes,
    notices,
    operating,
    recording,
    releases,
    repeating,
    rerunning,
    rewriting,
    running_graphs,
    settling,
    sharing,
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
    | callbacks.FAULTS
    | freezes.FAULTS
    | notes.FAULTS
    | operating.FAULTS
    | recording.FAULTS
    | repeating.FAULTS
    | releases.FAULTS
    | rerunning.FAULTS
    | rewriting.FAULTS
    | running_graphs.FAULTS
    | settling.FAULTS
    | answering.FAULTS
    | watching.FAULTS
    | sharing.FAULTS
    | versions.FAULTS
    | depending.FAULTS
    | latest.FAULTS
    | notices.FAULTS
    | naming.FAULTS
    | listing.FAULTS
)
