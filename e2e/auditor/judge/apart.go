package judge

import "strconv"

// ApartVerdict is the outcome of I1 for one pod that appeared.
type ApartVerdict int

const (
	// Unclear means that the objects changed between the reads; read again.
	Unclear ApartVerdict = iota
	// OnlyOne means that the other side answered NotFound.
	OnlyOne
	// Together means that both pods existed when the other side was read.
	Together
	// Vanished means that the pod that appeared no longer exists, and that the other side has a pod now. The order of
	// the two is unknown.
	Vanished
)

// Apart judges I1 from three live reads in this order: the pod that appeared
// under uid, the other side's pod, the first one again.
func Apart(before, other, after PodState) ApartVerdict {
	switch {
	case !other.Exists():
		return OnlyOne
	case !before.Exists() && !after.Exists():
		return Vanished
	case before.Exists() && before.UID == after.UID:
		return Together
	default:
		return Unclear
	}
}

// Coexisting returns the pods of one ordinal that were on both sides at the
// instant between two phases of a sample.
func Coexisting(first, second [2]ReplicaSide) [][2]PodState {
	var pairs [][2]PodState
	for _, here := range first[Source].Pods {
		there := first[Destination].pod(here.Ordinal) // none when it was not asked for
		if there.Exists() &&
			second[Source].pod(here.Ordinal).UID == here.UID &&
			second[Destination].pod(here.Ordinal).UID == there.UID {
			pairs = append(pairs, [2]PodState{here, there})
		}
	}
	return pairs
}

// Lifetime is one pod's existence in revisions of the one API server that both
// sides share. Died is 0 while the pod lives.
type Lifetime struct {
	Pod        PodState
	Side       SideIndex
	Born, Died uint64
}

// Overlapping returns the other side's pods of the same ordinal that lived while the dead pod did. It is the only way
// I1 can judge the past: reads after the event cannot see a pod that was deleted a moment too late.
func Overlapping(dead Lifetime, all []Lifetime) []Lifetime {
	var overlaps []Lifetime
	for _, l := range all {
		if l.Side == dead.Side || l.Pod.Ordinal != dead.Pod.Ordinal || l.Born == 0 || dead.Born == 0 {
			continue
		}
		if l.Born < dead.Died && (l.Died == 0 || dead.Born < l.Died) {
			overlaps = append(overlaps, l)
		}
	}
	return overlaps
}

// Revision parses a resourceVersion as a number that grows with every write of the API server. It returns 0 when it is
// not a number.
func Revision(rv string) uint64 {
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
