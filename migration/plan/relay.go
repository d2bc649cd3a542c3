package plan

import "k8s.io/apimachinery/pkg/types"

// Relay is two movers, each of which listens, and whose bytes are to be carried from the one to the other.
type Relay struct {
	Ordinal  int32
	Template string
	// Ahead is true while the ordinal runs: the relay may wait for those of ordinals that are down.
	Ahead            bool
	Sender, Receiver RelayEnd
}

// RelayEnd is the pod of a mover.
type RelayEnd struct {
	Side            SideName
	Namespace, Name string
	UID             types.UID
}
