package plan

import "k8s.io/apimachinery/pkg/types"

// Relay is a pair of movers that both listen, so that their bytes must be relayed from one to the other.
type Relay struct {
	Ordinal  int32
	Template string
	// Ahead is true while the ordinal runs: the relay may wait for the relays of ordinals that are down.
	Ahead            bool
	Sender, Receiver RelayEnd
}

// RelayEnd identifies the pod of a mover.
type RelayEnd struct {
	Side            SideName
	Namespace, Name string
	UID             types.UID
}
