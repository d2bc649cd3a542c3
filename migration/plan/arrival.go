package plan

// Arrival is the result of the dry run of an ordinal's pod on the side that takes the ordinal next.
type Arrival struct {
	Ordinal int32
	// Side is the side that answered the dry run.
	Side SideName
	// Finding is the reason that the ordinal would not start there; nil: none is known.
	Finding *Finding
}
