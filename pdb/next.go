package pdb

// Applied is the current state of one slice's PodDisruptionBudget.
type Applied struct {
	// Allows is how many of the slice's replicas the budget lets be unavailable.
	Allows int32
	// Down is how many of them are unavailable.
	Down int32
	// Exact is true when the budget has the desired form and the current holder of the migration wrote it.
	Exact bool
	// Confirmed is true when the disruption controller has observed it.
	Confirmed bool
}

// loss returns how many of the slice's replicas can become unavailable.
func (a Applied) loss() int32 { return max(a.Allows, a.Down) }

// Loss returns how many replicas of the two slices together can become unavailable at once.
func Loss(source, destination Applied) int32 { return source.loss() + destination.loss() }

// Move is the next step towards a split.
type Move string

// The values of Move.
const (
	// Reached: both budgets have the desired values, and both are confirmed.
	Reached Move = "Reached"
	// AwaitConfirmation: the disruption controller has not yet observed a change.
	AwaitConfirmation Move = "AwaitConfirmation"
	// AwaitRecovery: a budget cannot grow until unavailable replicas have recovered.
	AwaitRecovery Move = "AwaitRecovery"
	// SetSource: write the source's budget.
	SetSource Move = "SetSource"
	// SetDestination: write the destination's budget.
	SetDestination Move = "SetDestination"
)

// Next returns the next move from the applied budgets towards the desired ones, and the value that the budget to write
// allows. It first writes both sides, so that neither allows more than desired and a late write by another client
// conflicts. It then waits until both are confirmed, and then lets them grow.
func Next(source, destination Applied, want Share) (Move, int32) {
	switch {
	case source.Allows > want.Source || !source.Exact:
		return SetSource, min(source.Allows, want.Source)
	case destination.Allows > want.Destination || !destination.Exact:
		return SetDestination, min(destination.Allows, want.Destination)
	case !source.Confirmed || !destination.Confirmed:
		return AwaitConfirmation, 0
	}
	room := want.Source + want.Destination
	grown := Applied{Allows: want.Source, Down: source.Down}
	if source.Allows < want.Source && Loss(grown, destination) <= room {
		return SetSource, want.Source
	}
	grown = Applied{Allows: want.Destination, Down: destination.Down}
	if destination.Allows < want.Destination && Loss(source, grown) <= room {
		return SetDestination, want.Destination
	}
	if source.Allows < want.Source || destination.Allows < want.Destination {
		return AwaitRecovery, 0
	}
	return Reached, 0
}
