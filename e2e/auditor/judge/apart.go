package judge

import (
	"strconv"

	corev1 "k8s.io/api/core/v1" // IsGiven reports whether the volume, in its current phase, is meant for the claim that it names: reserved for it or
)

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

// IsGiven reports whether the volume, in its current phase, is meant for the claim that it names: reserved for it or
// bound to it. A volume that its claim has left is not.
func IsGiven(pv VolumeState) bool {
	return pv.ClaimName != "" && pv.Phase != corev1.VolumeReleased && pv.Phase != corev1.VolumeFailed
}

// Attachment is one VolumeAttachment.
type Attachment struct {
	Name, RV, Volume, Node string
}

// Takeover holds the reads after a volume was given to a side, in this order: the event, the other side, the volume
// again.
type Takeover struct {
	// Given is the event's state, After the live read at the end. StillGiven is true if After is given to the same
	// claim.
	Given, After VolumeState
	StillGiven   bool
	// OtherPod is the other side's pod of that ordinal, Attachments those of the
	// same disk in the other side's cluster.
	OtherPod    PodState
	Attachments []Attachment
	// SameCluster: both sides share volumes and attachments.
	SameCluster bool
}

// LeftBehind judges the second half of I2: a volume is given to a side only when the other side's pod and attachments
// no longer exist.
func LeftBehind(t Takeover) (podLeft bool, left []Attachment) {
	if !t.StillGiven || t.After.UID != t.Given.UID {
		return false, nil
	}
	for _, a := range t.Attachments {
		if t.isLeftOver(a) {
			left = append(left, a)
		}
	}
	return t.OtherPod.Exists(), left
}

// Gift is a volume that was given to a side, in revisions of the one API server
// that both sides share. From is the side whose pods must have ended before.
type Gift struct {
	From, To SideIndex
	Key      VolumeKey
	Volume   VolumeState
	Revision uint64
}

// Lingering returns the pods of From that lived when the volume was given. Like Overlapping, it sees pods that were
// deleted before they could be read.
func (g Gift) Lingering(all []Lifetime) []Lifetime {
	var left []Lifetime
	for _, l := range all {
		if l.Side == g.From && l.Pod.Ordinal == g.Key.Ordinal && l.Born != 0 && l.Born < g.Revision && g.Revision < l.Died {
			left = append(left, l)
		}
	}
	return left
}

// isLeftOver distinguishes the other side's attachment from this side's own. In one cluster only its age decides: an
// attachment that was last written before the volume was given, and still exists, existed at that moment. The two are
// of different kinds, but every write of an API server takes its revision from the same counter.
func (t Takeover) isLeftOver(a Attachment) bool {
	if !t.SameCluster {
		return true
	}
	return Revision(a.RV) != 0 && Revision(a.RV) < Revision(t.Given.RV)
}
