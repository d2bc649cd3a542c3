package auditor

import "strconv"

// apartVerdict is the outcome of I1 for one pod that appeared.
type apartVerdict int

const (
	// unclear: what was read changed meanwhile; read again.
	unclear apartVerdict = iota
	// apart: the other side said NotFound.
	apart
	// together: both pods existed when the other side was read.
	together
	// vanished: the pod that appeared is gone, and the other side has one now.
	// Which came first cannot be told.
	vanished
)

// judgeApart judges I1 from three live reads in this order: the pod that appeared
// under uid, the other side's pod, the first one again.
func judgeApart(before, other, after podState) apartVerdict {
	switch {
	case !other.exists():
		return apart
	case !before.exists() && !after.exists():
		return vanished
	case before.exists() && before.UID == after.UID:
		return together
	default:
		return unclear
	}
}

// coexisting returns the pods of one ordinal that were on both sides at the
// instant between two phases of a sample.
func coexisting(first, second [2]replicaSide) [][2]podState {
	var pairs [][2]podState
	for _, here := range first[source].Pods {
		there := first[destination].pod(here.Ordinal) // none when it was not asked for
		if there.exists() &&
			second[source].pod(here.Ordinal).UID == here.UID &&
			second[destination].pod(here.Ordinal).UID == there.UID {
			pairs = append(pairs, [2]podState{here, there})
		}
	}
	return pairs
}

// lifetime is one pod's existence in revisions of the one API server that both
// sides share. Died is 0 while the pod lives.
type lifetime struct {
	Pod        podState
	Side       sideIndex
	Born, Died uint64
}

// overlapping returns the other side's pods of the same ordinal that lived while
// the dead one did. It is the only look into the past that I1 has: reads after the
// event cannot see a pod that was deleted a moment too late.
func overlapping(dead lifetime, all []lifetime) []lifetime {
	var overlaps []lifetime
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

// revision reads a resourceVersion as what it is: a number that grows with every
// write of the API server. 0 when it is not a number.
func revision(rv string) uint64 {
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
