package judge

import corev1 "k8s.io/api/core/v1"

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
// that both sides share.
type Gift struct {
	To       SideIndex
	Key      VolumeKey
	Volume   VolumeState
	Revision uint64
}

// Lingering returns the other side's pods that lived when the volume was given. Like Overlapping, it sees pods that
// were deleted before they could be read.
func (g Gift) Lingering(all []Lifetime) []Lifetime {
	var left []Lifetime
	for _, l := range all {
		if l.Side == g.To.Other() && l.Pod.Ordinal == g.Key.Ordinal && l.Born != 0 && l.Born < g.Revision && g.Revision < l.Died {
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
