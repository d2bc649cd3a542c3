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
	switch a := write.Action; {
	case a.Does(volumes.Creates, volumes.KindClaim):
		w.createClaim(p, a)
	case a.Does(volumes.Updates, volumes.KindClaim):
		if judged(p.Claim, a) {
			p.Claim.Fence, p.Claim.Calls, p.Claim.ResourceVersion = a.Fence, a.Calls, w.Next()
		}
	case a.Does(volumes.Deletes, volumes.KindClaim):
		p.deleteClaim(t, a)
	case a.Does(volumes.Updates, volumes.KindVolume):
		w.writeVolume(t, p, a)
	default:
		t.Fatalf("unknown verb %s", a.Verb)
	}
}

func judged(c volumes.Claim, a volumes.Action) bool {
	return c.Found && c.UID == a.UID && c.ResourceVersion == a.ResourceVersion
}

func (w *World) createClaim(p *Place, a volumes.Action) {
	made := volumes.Claim{Found: true, Ours: true, Phase: corev1.ClaimPending, UID: types.UID("claim" + w.Next()), ResourceVersion: w.Next(), Fence: a.Fence, Volume: a.Volume}
	switch {
	case a.Part() == volumes.PartIncoming && !p.Incoming[a.Ref.Name].Found:
		p.Incoming[a.Ref.Name] = made
	case a.Part() == volumes.PartOutgoing && !p.Outgoing.Found:
		p.Outgoing = made
	case a.Part() == "" && !p.Claim.Found:
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
	const retain = corev1.PersistentVolumeReclaimRetain
	if d == p.Own() && a.After.Policy != retain && a.Before.Policy == retain {
		t.Fatalf("I3: volume %s is the ordinal's, and its policy is restored during the move", d.Name)
	}
	if !d.ClaimRef.Names(a.After.ClaimRef) && d.Policy != retain {
		t.Fatalf("I3: volume %s is pointed elsewhere without Retain", d.Name)
	}
	d.Volume = d.In(a.After)
	d.ResourceVersion = w.Next()
}
