package volumes

// Beside is what is known of the volumes that an ordinal's pod is to mount at the taker besides the one that is filled: all of them must be
// within the reach of one node. A class that waits for a pod (WaitForFirstConsumer) makes a volume where that pod runs, in its zone.
type Beside struct {
	// Taken are those that are at the taker, by name, and Given those that are still at the giver and will be the same disks at the taker.
	Taken, Given []string
	// Unplaced is the claim of another one, which has none yet and comes before it; empty: there is none.
	Unplaced string
	// Awaited: another one, which is filled while the ordinal runs, waits in that way for this one.
	Awaited bool
}

// Wait waits until the claim that comes first has its volume: where that is, the one of the claim in may be, too.
func (b Beside) Wait(in Ref) Verdict {
	if b.Unplaced == "" {
		return Verdict{}
	}
	return Awaits("claim %s/%s has its volume, since one pod is to mount it and that of claim %s", in.Namespace, b.Unplaced, in.Name)
}
