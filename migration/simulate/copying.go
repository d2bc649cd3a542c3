package simulate

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// copies updates v.Copy to the recorded attempt, as an observer would read it.
func (w *World) copies() {
	if w.State.Record.Idle() {
		w.lookAt(w.moving())
	}
	for _, handoff := range w.State.Record.InFlight() {
		w.lookAt(w.volumesOf(handoff.Ordinal, handoff.Ordinal)) // the handoff may have begun just now
	}
}

func (w *World) lookAt(own []plan.OrdinalVolume) {
	for i := range own {
		w.lookAtCopy(&own[i])
	}
}

// cutOver makes a dry run ignore cutovers that wait for a user.
func (w *World) cutOver() {
	for i := range w.State.Volumes {
		if seen := w.State.Volumes[i].Copy; seen != nil {
			seen.Asked.Cutover = api.CutoverNow
		}
	}
}

// lookAtCopy updates one copy to the recorded attempt, and its volumes to those of the ordinal's claims.
func (w *World) lookAtCopy(v *plan.OrdinalVolume) {
	recorded := w.State.Record.Volume(v.Ordinal, v.Template).Copy
	if v.Copy == nil {
		return
	}
	if recorded.Number != v.Copy.Attempt.Number || recorded.Giver != v.Copy.Attempt.Giver {
		*v.Copy = anew(*v.Copy, volumes.Copying{Attempt: recorded})
	}
	if recorded.Number == 0 {
		return
	}
	giver, taker := v.Holding(plan.SideName(recorded.Giver)), v.Holding(plan.SideName(recorded.Giver).Other())
	v.Copy.Incoming.Ref = volumes.IncomingRef(taker.Ref, w.State.UID, recorded.Number)
	v.Copy.Outgoing.Ref, v.Copy.Outgoing.Volume = volumes.OutgoingRef(giver.Ref, w.State.UID), giver.Volume
	if taker.Volume.Name == v.Copy.Incoming.Volume.Name {
		v.Copy.Incoming.Volume = taker.Volume
	}
}

// applyCopying performs a write of a method that fills a second volume, like an API server.
func (a apiServer) applyCopying(v *plan.OrdinalVolume, e plan.Effect) error {
	a.lookAtCopy(v)
	switch e.On() {
	case volumes.KindClaim:
		return a.applyClaim(v, e)
	case volumes.KindPod:
		return a.applyMover(v, e.Volume)
	case volumes.KindService:
		v.Copy.Entrance = volumes.Entrance{}
		if e.Change() == volumes.Creates {
			v.Copy.Entrance = volumes.Entrance{Found: true, Address: "receiver:8722"}
		}
		return nil
	case volumes.KindExport:
		v.Copy.Entrance.Exported = true
		return nil
	case volumes.KindSnapshot:
		return a.applySnapshot(v, e.Volume)
	case volumes.KindContent:
		return a.applyContent(v, e.Volume)
	default:
		return a.writeCopied(v, e)
	}
}

// applyClaim creates or deletes a claim. It is the ordinal's own, or one beside it.
func (a apiServer) applyClaim(v *plan.OrdinalVolume, e plan.Effect) error {
	action, own := e.Volume, v.Holding(e.Side)
	if e.Change() == volumes.Deletes {
		return a.deleteClaim(v, own, action)
	}
	at := map[volumes.Part]*volumes.Claim{
		"": &own.Claim, volumes.PartIncoming: &v.Copy.Incoming.Claim, volumes.PartOutgoing: &v.Copy.Outgoing.Claim, volumes.PartBase: &v.Copy.Base.Claim,
	}[action.Part()]
	if at.Found {
		return ErrConflict
	}
	*at = volumes.Claim{Found: true, UID: a.NewUID(), ResourceVersion: a.NewVersion(), Phase: corev1.ClaimPending, Volume: action.Volume, Ours: true, Fence: action.Fence}
	switch {
	case action.Part() == volumes.PartIncoming:
		v.Copy.Snapshot.Source = action.Copy.Snapshot.Source
	case at == &own.Claim && action.Volume == v.Copy.Incoming.Volume.Name:
		own.Volume = v.Copy.Incoming.Volume
	}
	return nil
}

// deleteClaim deletes the claim that was judged. With the incoming claim its Service is deleted, and the volume that is
// bound to it unless its policy is Retain.
func (a apiServer) deleteClaim(v *plan.OrdinalVolume, own *volumes.Holding, action volumes.Action) error {
	in := &v.Copy.Incoming
	at := map[string]*volumes.Claim{
		own.Ref.Name: &own.Claim, in.Ref.Name: &in.Claim, v.Copy.Outgoing.Ref.Name: &v.Copy.Outgoing.Claim,
	}[action.Ref.Name]
	if action.Part() == volumes.PartBase {
		at = &v.Copy.Base.Claim
	}
	if at == nil || at.UID != action.UID || at.ResourceVersion != action.ResourceVersion {
		return ErrConflict
	}
	bound := in.Volume.ClaimRef.Names(in.Ref) && in.Volume.ClaimRef.UID == in.Claim.UID
	*at = volumes.Claim{}
	switch at {
	case &own.Claim:
		own.Volume = volumes.Volume{} // nothing records any more which volume it was
	case &in.Claim:
		v.Copy.Entrance = volumes.Entrance{}
		if bound && in.Volume.Policy != corev1.PersistentVolumeReclaimRetain {
			in.Volume = volumes.Volume{}
		}
	}
	return nil
}

func (a apiServer) applyMover(v *plan.OrdinalVolume, action volumes.Action) error {
	m := map[volumes.Role]*volumes.Mover{
		volumes.RoleReceiver: &v.Copy.Receiver, volumes.RoleSender: &v.Copy.Sender, volumes.RoleWarm: &v.Copy.Warm, volumes.RoleProver: &v.Copy.Prover, volumes.RolePlaceholder: &v.Copy.Placeholder,
	}[action.Copy.Role]
	switch {
	case action.Change() == volumes.Creates && m.Found, action.Change() != volumes.Creates && (m.UID != action.UID || m.ResourceVersion != action.ResourceVersion):
		return ErrConflict
	case action.Change() == volumes.Creates:
		*m = volumes.Mover{Found: true, UID: a.NewUID(), ResourceVersion: a.NewVersion(), Attempt: action.Copy.Attempt, Pass: action.Copy.Pass, Warm: action.Copy.Warm, Claim: action.Ref.Name, Node: action.Copy.Node, Made: a.State.Now, Fence: action.Fence}
	case action.Change() == volumes.Updates:
		m.ResourceVersion, m.Fence, m.Peer = a.NewVersion(), action.Fence, cmp.Or(action.Copy.Peer, m.Peer)
	default:
		node := m.Node
		*m = volumes.Mover{}
		a.leftBy(v, action.Copy.Role, node)
	}
	return nil
}

// writeCopied writes to one of the two volumes.
func (a apiServer) writeCopied(v *plan.OrdinalVolume, e plan.Effect) error {
	action, incoming := e.Volume, e.Volume.Volume == v.Copy.Incoming.Volume.Name
	volume := v.Holding(e.Side).Volume
	if incoming {
		volume = v.Copy.Incoming.Volume
	}
	if !volume.Found || volume.UID != action.UID || volume.ResourceVersion != action.ResourceVersion {
		return ErrConflict
	}
	a.putCopied(v, e.Side, incoming, volume.In(action.After))
	return nil
}

// putCopied stores a volume: the incoming one is the ordinal's once its claim names it.
func (w *World) putCopied(v *plan.OrdinalVolume, name plan.SideName, incoming bool, volume volumes.Volume) {
	volume.ResourceVersion = w.NewVersion()
	if incoming {
		v.Copy.Incoming.Volume = volume
	}
	if h := v.Holding(name); !incoming || h.Claim.Volume == volume.Name {
		h.Volume = volume
	}
	w.lookAtCopy(v)
}

// endPass completes a warm pass if nothing else is left to do, and reports whether there was one.
func (w *World) endPass() bool {
	w.passes = false
	defer func() { w.passes = true }()
	return w.Settle()
}

// SettleCopies lets binders, provisioners and movers act once on each copy.
func (w *World) SettleCopies() bool {
	changed := false
	own := w.moving()
	for i := range own {
		if w.lookAtCopy(&own[i]); own[i].Copy != nil {
			changed = w.settleCopy(&own[i]) || changed
		}
	}
	return changed
}

func (w *World) settleCopy(v *plan.OrdinalVolume) bool {
	recorded := w.State.Record.Volume(v.Ordinal, v.Template).Copy
	if recorded.Number == 0 {
		return false
	}
	giver, in := plan.SideName(recorded.Giver), &v.Copy.Incoming
	if w.settleSnapshots(v) {
		return true
	}
	if in.Claim.Found && in.Claim.Volume == "" {
		name := "pvc-of-" + in.Ref.Name + "-from-" + recorded.Giver
		handle := "disk-" + name
		if driver, _ := volumes.DriverOf(v.Copy.Outgoing.Volume.Handle); driver != "" {
			handle = driver + "/" + name
		}
		in.Claim.Volume, in.Claim.ResourceVersion = name, w.NewVersion()
		w.putCopied(v, giver.Other(), true, volumes.Volume{
			Found: true, Name: name, UID: types.UID(name), Handle: handle, Policy: corev1.PersistentVolumeReclaimDelete,
			Phase: corev1.VolumeBound, ClaimRef: volumes.Ref{Namespace: in.Ref.Namespace, Name: in.Ref.Name, UID: in.Claim.UID},
		})
		return true
	}
	if phase := phaseOf(in.Volume); in.Volume.Found && in.Volume.Phase != phase {
		in.Volume.Phase = phase
		w.putCopied(v, giver.Other(), true, in.Volume)
		return true
	}
	return w.bindCopy(v, in, giver.Other(), true) || w.bindCopy(v, &v.Copy.Outgoing, giver, false) || w.settleMovers(v)
}

// bindCopy acts like the binder on a claim of a mover.
func (w *World) bindCopy(v *plan.OrdinalVolume, h *volumes.Holding, name plan.SideName, incoming bool) bool {
	if !h.Claim.Found {
		return false
	}
	volume, phase := h.Volume, corev1.ClaimLost
	if volume.ClaimRef.Names(h.Ref) && volume.ClaimRef.UID == "" {
		volume.ClaimRef.UID = h.Claim.UID
		w.putCopied(v, name, incoming, volume)
		return true
	}
	if volume.ClaimRef.Names(h.Ref) && volume.ClaimRef.UID == h.Claim.UID {
		phase = corev1.ClaimBound
	}
	if h.Claim.Phase == phase {
		return false
	}
	h.Claim.Phase, h.Claim.ResourceVersion = phase, w.NewVersion()
	return true
}

// settleMovers lets movers create their keys, and complete once they know each other's.
func (w *World) settleMovers(v *plan.OrdinalVolume) bool {
	r, s, own := &v.Copy.Receiver, &v.Copy.Sender, v.Holding(plan.SideName(v.Copy.Attempt.Giver))
	if r.Warm {
		s = &v.Copy.Warm
	}
	reads := v.Copy.Outgoing
	if v.Copy.Sender.Claim == own.Ref.Name {
		reads = *own
	}
	for _, each := range []struct {
		mover *volumes.Mover
		on    volumes.Holding
	}{{r, v.Copy.Incoming}, {&v.Copy.Sender, reads}, {&v.Copy.Warm, *own}} {
		if each.mover.Found && each.mover.Key == "" && each.on.Bound() {
			each.mover.Key, each.mover.ResourceVersion = "key-"+string(each.mover.UID), w.NewVersion()
			if each.mover == r {
				w.attachFilled(v)
			}
			return true
		}
	}
	if r.Ended || w.passes && r.Warm || w.Mute && !r.Warm || r.Peer == "" || r.Peer != s.Key || s.Peer != r.Key {
		return false
	}
	for _, m := range []*volumes.Mover{r, s} {
		m.Ended, m.ResourceVersion, m.Result = true, w.NewVersion(), volumes.MoverResult{Done: true}
		if !r.Warm {
			m.Result.Root = "root-" + v.Copy.Outgoing.Volume.Handle
		}
	}
	w.leftBy(v, volumes.RoleReceiver, r.Node) // a kubelet unmounts the volumes of a pod that has ended
	w.leftBy(v, volumes.RoleSender, v.Copy.Sender.Node)
	return true
}
