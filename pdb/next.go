package pdb

// Applied is what one slice's PodDisruptionBudget says now.
type Applied struct {
	// Allows is how many of the slice's replicas it lets be unavailable.
	Allows int32
	// Down is how many of them are unavailable.
	Down int32
	// Exact is true when it says so in the form that is wanted, and the present
	// holder of the migration wrote it.
	Exact bool
	// Confirmed is true when the disruption controller has observed it.
	Confirmed bool
}

// loss is how many of the slice's replicas may come to be unavailable.
func (a Applied) loss() int32 { return max(a.Allows, a.Down) }

// Loss is how many replicas of both slices may come to be unavailable at once.
func Loss(source, destination Applied) int32 { return source.loss() + destination.loss() }

// Move is what to do next to reach a split.
type Move string

// The moves.
const (
	// Reached: both sides say and have confirmed what is wanted.
	Reached Move = "Reached"
	// AwaitConfirmation: a change has not been observed by the disruption controller.
	AwaitConfirmation Move = "AwaitConfirmation"
	// AwaitRecovery: a side cannot grow as long as so many replicas are unavailable.
	AwaitRecovery Move = "AwaitRecovery"
	// SetSource: write the source's budget.
	SetSource Move = "SetSource"
	// SetDestination: write the destination's budget.
	SetDestination Move = "SetDestination"
)

// Next returns the next move from what is applied to what is wanted, and what the
// budget that it writes is to allow. First it takes hold of both sides, so that
// neither allows more than is wanted, nor can come to by a late write of somebody
// else; then it waits for their confirmation; then they grow.
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
