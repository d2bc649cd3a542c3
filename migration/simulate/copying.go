package simulate

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
)

// copies lets v.Copy be about the attempt that is recorded, as an observer finds it.
func (w *World) copies() {
	own := w.moving()
	for i := range own {
		w.lookAtCopy(&own[i])
	}
}

// lookAtCopy has one copy be about the attempt that is recorded, and its volumes those of the ordinal's claims.
func (w *World) lookAtCopy(v *plan.OrdinalVolume) {
	recorded := plan.RecordedVolume(w.State.Record.Handoff, v.Ordinal, v.Template).Copy
	if v.Copy == nil {
		return
	}
	if recorded.Number != v.Copy.Attempt.Number || recorded.Giver != v.Copy.Attempt.Giver {
		*v.Copy = volumes.Copying{Asked: v.Copy.Asked, Attempt: recorded}
	}
	if recorded.Number == 0 {
		return
	}
	giver, taker := v.Holding(plan.SideName(recorded.Giver)), v.Holding(plan.SideName(recorded.Giver).Other())
	v.Copy.Incoming.Ref = copy.IncomingRef(taker.Ref, w.State.UID, recorded.Number)
	v.Copy.Outgoing.Ref, v.Copy.Outgoing.Volume = copy.OutgoingRef(giver.Ref, w.State.UID), giver.Volume
	if taker.Volume.Found && taker.Volume.Name == v.Copy.Incoming.Volume.Name {
		v.Copy.Incoming.Volume = taker.Volume
	}
}

// applyCopying does what an API server does with a write of method Copy.
func (a apiServer) applyCopying(v *plan.OrdinalVolume, e plan.Effect) error {
	a.lookAtCopy(v)
	action := e.Volume
	made := volumes.Claim{Found: true, UID: a.NewUID(), ResourceVersion: a.NewVersion(), Phase: corev1.ClaimPending, Volume: action.Volume, Ours: true, Fence: action.Fence}
	switch action.Verb {
	case volumes.CreateIncoming:
		return put(&v.Copy.Incoming.Claim, made)
	case volumes.CreateOutgoing:
		return put(&v.Copy.Outgoing.Claim, made)
	case volumes.CreateClaim:
		h := v.Holding(e.Side)
		if action.Volume == v.Copy.Incoming.Volume.Name {
			h.Volume = v.Copy.Incoming.Volume
		}
		return put(&h.Claim, made)
	case volumes.DeleteLost:
		return a.deleteLost(v, e)
	case volumes.CreateEntrance:
		v.Copy.Entrance = volumes.Entrance{Found: true, Address: "receiver:8722"}
		return nil
	case volumes.CreateMover, volumes.MarkMover, volumes.TellMover, volumes.DeleteMover:
		return a.applyMover(v, action)
	default:
		return a.writeCopied(v, e)
	}
}

func put(claim *volumes.Claim, made volumes.Claim) error {
	if claim.Found {
		return ErrConflict
	}
	*claim = made
	return nil
}

func (a apiServer) deleteLost(v *plan.OrdinalVolume, e plan.Effect) error {
	own := v.Holding(e.Side)
	for _, h := range []*volumes.Holding{&v.Copy.Incoming, &v.Copy.Outgoing, own} {
		if h.Ref.Name != e.Volume.Ref.Name || h.Claim.UID != e.Volume.UID || h.Claim.ResourceVersion != e.Volume.ResourceVersion {
			continue
		}
		h.Claim = volumes.Claim{}
		if h == own {
			h.Volume = volumes.Volume{} // nothing says any more which it was
		}
		return nil
	}
	return ErrConflict
}

func (a apiServer) applyMover(v *plan.OrdinalVolume, action volumes.Action) error {
	m := &v.Copy.Sender
	if action.Copy.Role == volumes.RoleReceiver {
		m = &v.Copy.Receiver
	}
	if action.Verb == volumes.CreateMover {
		if m.Found {
			return ErrConflict
		}
		*m = volumes.Mover{Found: true, UID: a.NewUID(), ResourceVersion: a.NewVersion(), Attempt: action.Copy.Attempt, Pass: action.Copy.Pass, Fence: action.Fence}
		return nil
	}
	if m.UID != action.UID || m.ResourceVersion != action.ResourceVersion {
		return ErrConflict
	}
	m.ResourceVersion, m.Fence = a.NewVersion(), action.Fence
	switch action.Verb {
	case volumes.TellMover:
		m.Peer = action.Copy.Peer
	case volumes.DeleteMover:
		*m = volumes.Mover{}
	default:
	}
	return nil
}

// writeCopied writes to one of both volumes.
func (a apiServer) writeCopied(v *plan.OrdinalVolume, e plan.Effect) error {
	action, incoming := e.Volume, e.Volume.Volume == v.Copy.Incoming.Volume.Name
	volume := v.Holding(e.Side).Volume
	if incoming {
		volume = v.Copy.Incoming.Volume
	}
	if !volume.Found || volume.UID != action.UID || volume.ResourceVersion != action.ResourceVersion {
		return ErrConflict
	}
	switch action.Verb {
	case volumes.Secure:
		volume.Policy, volume.Note = corev1.PersistentVolumeReclaimRetain, action.Note
	case volumes.Release:
		volume.ClaimRef, volume.Released = action.Ref, action.Copy.Released
	case volumes.TakeOver:
		volume.ClaimRef, volume.Seal, volume.Note = action.Ref, action.Copy.Seal, action.Note
	default:
		volume.ClaimRef = action.Ref
	}
	if action.Copy.Returned {
		volume.Released = ""
	}
	volume.Fence = action.Fence
	a.putCopied(v, e.Side, incoming, volume)
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

// settleCopies lets binders, provisioners and movers act once on each copy.
func (w *World) settleCopies() bool {
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
	recorded := plan.RecordedVolume(w.State.Record.Handoff, v.Ordinal, v.Template).Copy
	if recorded.Number == 0 {
		return false
	}
	giver, in := plan.SideName(recorded.Giver), &v.Copy.Incoming
	if in.Claim.Found && in.Claim.Volume == "" {
		name := "pvc-of-" + in.Ref.Name + "-from-" + recorded.Giver
		in.Claim.Volume, in.Claim.ResourceVersion = name, w.NewVersion()
		w.putCopied(v, giver.Other(), true, volumes.Volume{
			Found: true, Name: name, UID: types.UID(name), Handle: "disk-" + name, Policy: corev1.PersistentVolumeReclaimDelete,
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

// bindCopy does what the binder does with a claim of a mover.
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

// settleMovers lets movers make their keys, and come to their end once they know each other.
func (w *World) settleMovers(v *plan.OrdinalVolume) bool {
	r, s := &v.Copy.Receiver, &v.Copy.Sender
	for _, each := range []struct {
		mover *volumes.Mover
		on    volumes.Holding
	}{{r, v.Copy.Incoming}, {s, v.Copy.Outgoing}} {
		if each.mover.Found && each.mover.Key == "" && each.on.Bound() {
			each.mover.Key, each.mover.ResourceVersion = "key-"+string(each.mover.UID), w.NewVersion()
			return true
		}
	}
	if !r.Found || r.Ended || r.Peer == "" || r.Peer != s.Key || s.Peer != r.Key {
		return false
	}
	for _, m := range []*volumes.Mover{r, s} {
		m.Ended, m.ResourceVersion, m.Result = true, w.NewVersion(), volumes.MoverResult{Done: true, Root: "root-" + v.Copy.Outgoing.Volume.Handle}
	}
	return true
}
