package volumes

// Beside describes the other volumes that an ordinal's pod will mount at the taker, apart from the one that is
// filled. All of them must be within the reach of one node. A class that waits for a pod (WaitForFirstConsumer)
// creates a volume in the zone where that pod runs.
type Beside struct {
	// Taken lists the names of volumes that are at the taker. Given lists those still at the giver that will be
	// the same disks at the taker.
	Taken, Given []string
	// Unplaced is the claim of another volume that does not exist yet and must be created first; empty if there
	// is none.
	Unplaced string
	// Awaited is true if another volume, which is filled while the ordinal runs, waits for this one in that
	// way.
	Awaited bool
}

// Wait waits until the claim that comes first has its volume. The volume of the claim in can then be placed
// within the same reach.
func (b Beside) Wait(in Ref) Verdict {
	if b.Unplaced == "" {
		return Verdict{}
	}
	return Awaits("claim %s/%s has its volume, since one pod is to mount it and that of claim %s", in.Namespace, b.Unplaced, in.Name)
}
