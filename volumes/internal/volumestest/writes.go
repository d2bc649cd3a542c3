package volumestest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/volumes"
)

// Arrive processes a write to a claim or a volume as an API server does: it is refused if the object was
// changed since it was judged.
func (w *World) Arrive(t Failer, write Late) {
	p := w.Places[write.Side]
	switch write.Verb {
	case volumes.CreateIncoming, volumes.CreateOutgoing, volumes.CreateClaim:
		w.createClaim(p, write.Action)
	case volumes.MarkClaim:
		if judged(p.Claim, write.Action) {
			p.Claim.Fence, p.Claim.Calls, p.Claim.ResourceVersion = write.Fence, write.Calls, w.Next()
		}
	case volumes.DeleteLost, volumes.DeleteUnfilled, volumes.DeleteDropped:
		p.deleteClaim(t, write.Action)
	default:
		w.writeVolume(t, p, write.Action)
	}
}

func judged(c volumes.Claim, a volumes.Action) bool {
	return c.Found && c.UID == a.UID && c.ResourceVersion == a.ResourceVersion
}

func (w *World) createClaim(p *Place, a volumes.Action) {
	made := volumes.Claim{Found: true, Ours: true, Phase: corev1.ClaimPending, UID: types.UID("claim" + w.Next()), ResourceVersion: w.Next(), Fence: a.Fence, Volume: a.Volume}
	switch {
	case a.Verb == volumes.CreateIncoming && !p.Incoming[a.Ref.Name].Found:
		p.Incoming[a.Ref.Name] = made
	case a.Verb == volumes.CreateOutgoing && !p.Outgoing.Found:
		p.Outgoing = made
	case a.Verb == volumes.CreateClaim && !p.Claim.Found:
		p.Claim = made
	}
}

func (p *Place) deleteClaim(t Failer, a volumes.Action) {
	switch incoming := p.Incoming[a.Ref.Name]; {
	case a.Ref.Name == p.Ref.Name && judged(p.Claim, a):
		if p.Own() != nil {
			t.Fatalf("the ordinal's claim is deleted, and bound to volume %s", p.Claim.Volume)
		}
		p.Claim = volumes.Claim{}
	case judged(incoming, a):
		unfilled := a.Verb == volumes.DeleteUnfilled && incoming.Volume == ""
		if d := p.Own(); !unfilled && a.Verb != volumes.DeleteDropped && (d == nil || d.Name != incoming.Volume) {
			t.Fatalf("the incoming claim goes before the ordinal's claim is bound: nothing names volume %s", incoming.Volume)
		}
		delete(p.Incoming, a.Ref.Name)
	case a.Ref.Name == p.Out().Name && judged(p.Outgoing, a):
		p.Outgoing = volumes.Claim{}
	}
}

func (w *World) writeVolume(t Failer, p *Place, a volumes.Action) {
	d := p.Disks[a.Volume]
	if d == nil || d.UID != a.UID || d.ResourceVersion != a.ResourceVersion {
		return
	}
	if d == p.Own() && a.Verb == volumes.Loosen {
		t.Fatalf("I3: volume %s is the ordinal's, and its policy is restored in mid-move", d.Name)
	}
	if a.Verb != volumes.Secure && a.Verb != volumes.Loosen && !d.ClaimRef.Names(a.Ref) && d.Policy != corev1.PersistentVolumeReclaimRetain {
		t.Fatalf("I3: volume %s is pointed elsewhere without Retain", d.Name)
	}
	switch a.Verb {
	case volumes.Secure, volumes.Release, volumes.TakeOver, volumes.Park, volumes.Point, volumes.PointBack, volumes.Loosen:
		d.Volume = a.Written(d.Volume)
		d.ResourceVersion = w.Next()
	default:
		t.Fatalf("unknown verb %s", a.Verb)
	}
}
