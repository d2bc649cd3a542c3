package plan

// Arrival is what the side that takes an ordinal next has answered when it was asked whether it would run there.
type Arrival struct {
	Ordinal int32
	// Side is the one that was asked.
	Side SideName
	// Finding is why the ordinal would not start there; nil: nothing speaks against it.
	Finding *Finding
}
