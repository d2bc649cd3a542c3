package copy

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/volumes"
)

const owner = "migration"

// disk is a volume of the world with what is on it.
type disk struct {
	volumes.Volume
	content int
}

// pod is a mover as it runs: what it has mounted stays mounted until it is gone.
type pod struct {
	Mover
	mounted *disk
}

// place is where the ordinal runs.
type place string

const (
	nowhere place = ""
	atGiver place = "giver"
	atTaker place = "taker"
)

// late is a write that is on its way, and may arrive long after it was decided.
type late struct {
	Action
	attempt int32
}

// world is one ordinal on its way: what the API servers of both sides store, movers and binders that
// act when they like, people who start a pod where they should not, and writes that come late.
type world struct {
	serial, epoch int
	back          bool
	runs          place
	attempt       int32
	sealed        Seals
	released      string
	begun         string
	// twice is a claim name for which a volume was made a second time.
	twice string

	giver, taker, outgoing volumes.Claim
	incoming               map[int32]volumes.Claim
	from                   *disk
	to                     map[int32]*disk
	movers                 map[Role]*pod
	onTheirWay             []late
	// started is how often the ordinal has begun at the taker.
	started int
}

var (
	giverRef = volumes.Ref{Namespace: "east", Name: "data-web-0"}
	takerRef = volumes.Ref{Namespace: "west", Name: "data-web-0"}
)

func newWorld() *world {
	w := &world{epoch: 1, runs: atGiver, incoming: map[int32]volumes.Claim{}, to: map[int32]*disk{}, movers: map[Role]*pod{}}
	w.giver = volumes.Claim{Found: true, UID: "giver", ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: "pv"}
	w.from = &disk{content: 1, Volume: volumes.Volume{
		Found: true, Name: "pv", UID: "pv", ResourceVersion: "1", Handle: "d/giver", Policy: corev1.PersistentVolumeReclaimDelete, ClaimRef: at(giverRef, "giver"),
	}}
	return w
}

func at(ref volumes.Ref, uid types.UID) volumes.Ref {
	ref.UID = uid
	return ref
}

func (w *world) next() string {
	w.serial++
	return strconv.Itoa(w.serial + 100)
}

func (w *world) out() volumes.Ref { return OutgoingRef(giverRef, owner) }

func (w *world) view() View {
	v := View{
		Fence: owner + "." + strconv.Itoa(w.epoch), Owner: owner, Attempt: w.attempt, Begun: w.begun, Released: w.released, Sealed: w.sealed,
		Giver: volumes.Holding{Ref: giverRef, Claim: w.giver, Volume: w.from.Volume}, Taker: volumes.Holding{Ref: takerRef, Claim: w.taker},
		Outgoing: volumes.Holding{Ref: w.out(), Claim: w.outgoing, Volume: w.from.Volume},
		Incoming: volumes.Holding{Ref: IncomingRef(takerRef, owner, w.attempt), Claim: w.incoming[w.attempt]},
		Stays:    w.runs == atGiver && !w.back,
	}
	if to := w.to[w.attempt]; to != nil {
		v.Incoming.Volume, v.Taker.Volume = to.Volume, to.Volume
	}
	for role, into := range map[Role]*Mover{Receiver: &v.Receiver, Warm: &v.Warm, Last: &v.Last} {
		if running := w.movers[role]; running != nil {
			*into = running.Mover
		}
	}
	return v
}

// bind says whether a claim of the world can be mounted, and what is behind it.
func bind(claim volumes.Claim, d *disk) bool {
	return d != nil && claim.Found && claim.Volume == d.Name && claim.UID != "" && d.ClaimRef.UID == claim.UID
}

// binder lets the binders and provisioners of both sides act.
func (w *world) binder() {
	for attempt, claim := range w.incoming {
		if claim.Found && claim.Volume == "" {
			if w.to[attempt] != nil {
				w.twice = IncomingRef(takerRef, owner, attempt).Name
				continue
			}
			name := fmt.Sprintf("pvc-%d", attempt)
			claim.Volume, claim.ResourceVersion = name, w.next()
			w.to[attempt] = &disk{Volume: volumes.Volume{
				Found: true, Name: name, UID: types.UID(name), ResourceVersion: w.next(), Handle: "d/" + name, Policy: corev1.PersistentVolumeReclaimDelete,
				ClaimRef: at(IncomingRef(takerRef, owner, attempt), claim.UID),
			}}
		}
		w.incoming[attempt] = w.phase(IncomingRef(takerRef, owner, attempt), claim, w.to[attempt])
	}
	w.giver, w.outgoing = w.phase(giverRef, w.giver, w.from), w.phase(w.out(), w.outgoing, w.from)
	for _, to := range w.to {
		if w.taker.Volume == to.Name {
			w.taker = w.phase(takerRef, w.taker, to)
		}
	}
}

// phase is what a binder makes of a claim and the volume that it names.
func (w *world) phase(ref volumes.Ref, claim volumes.Claim, d *disk) volumes.Claim {
	if !claim.Found || d == nil || claim.Volume != d.Name {
		return claim
	}
	if d.ClaimRef.Names(ref) && d.ClaimRef.UID == "" {
		d.ClaimRef.UID, d.ResourceVersion = claim.UID, w.next()
	}
	phase := corev1.ClaimLost
	if d.ClaimRef.Names(ref) && d.ClaimRef.UID == claim.UID {
		phase = corev1.ClaimBound
	}
	if claim.Phase != phase {
		claim.Phase, claim.ResourceVersion = phase, w.next()
	}
	return claim
}

// arrive does what an API server would: what was changed since it was judged is not written.
func (w *world) arrive(t *rapid.T, write late) {
	switch a := write.Action; a.Verb {
	case CreateIncoming, CreateOutgoing, CreateClaim, MarkClaim, DeleteIncoming, DeleteOutgoing:
		w.writeClaim(t, write)
	case CreateMover, MarkMover, Tell, DeleteMover:
		w.writeMover(a, write.attempt)
	case Record:
		w.sealed = a.Seals
	case Begin:
		w.attempt, w.begun = w.attempt+1, a.Fence
	default:
		w.writeVolume(t, write)
	}
}

func (w *world) writeClaim(t *rapid.T, write late) {
	a := write.Action
	made := volumes.Claim{Found: true, Ours: true, Phase: corev1.ClaimPending, UID: types.UID("claim" + w.next()), ResourceVersion: w.next(), Fence: a.Fence, Volume: a.Volume}
	judged := func(c volumes.Claim) bool { return c.Found && c.UID == a.UID && c.ResourceVersion == a.ResourceVersion }
	switch a.Verb {
	case CreateIncoming:
		if !w.incoming[write.attempt].Found {
			w.incoming[write.attempt] = made
		}
	case CreateOutgoing:
		if !w.outgoing.Found {
			w.outgoing = made
		}
	case CreateClaim:
		if !w.taker.Found {
			w.taker = made
		}
	case MarkClaim:
		if judged(w.taker) {
			w.taker.Fence, w.taker.ResourceVersion = a.Fence, w.next()
		}
	case DeleteIncoming:
		if judged(w.incoming[write.attempt]) {
			if !bind(w.taker, w.to[write.attempt]) {
				t.Fatalf("the incoming claim goes before the ordinal's claim is bound: nothing names volume %s", w.to[write.attempt].Name)
			}
			w.incoming[write.attempt] = volumes.Claim{}
		}
	case DeleteOutgoing:
		if judged(w.outgoing) {
			w.outgoing = volumes.Claim{}
		}
	default:
	}
}

func (w *world) writeMover(a Action, attempt int32) {
	m := w.movers[a.Role]
	if a.Verb == CreateMover {
		if m == nil {
			w.movers[a.Role] = &pod{Mover: Mover{Found: true, UID: types.UID("pod" + w.next()), ResourceVersion: w.next(), Attempt: attempt, Fence: a.Fence}}
		}
		return
	}
	if m == nil || m.UID != a.UID || m.ResourceVersion != a.ResourceVersion {
		return
	}
	switch a.Verb {
	case MarkMover:
		m.Fence = a.Fence
	case Tell:
		m.Order = a.Order
	default:
		m.Terminating = true
	}
	m.ResourceVersion = w.next()
}

func (w *world) writeVolume(t *rapid.T, write late) {
	a, d := write.Action, w.from
	if d.Name != a.Volume {
		d = w.to[write.attempt]
	}
	if d == nil || d.UID != a.UID || d.ResourceVersion != a.ResourceVersion {
		return
	}
	if a.Verb != Secure && a.Verb != SecureIncoming && !d.ClaimRef.Names(a.Ref) && d.Policy != corev1.PersistentVolumeReclaimRetain {
		t.Fatalf("I3: volume %s is pointed elsewhere without Retain", d.Name)
	}
	switch a.Verb {
	case Secure, SecureIncoming:
		d.Policy, d.Note = corev1.PersistentVolumeReclaimRetain, volumes.Note{Policy: corev1.PersistentVolumeReclaimDelete, By: owner}
	case Release:
		d.ClaimRef, w.released = a.Ref, a.Fence
	case PointBack, ParkGiver:
		d.ClaimRef, w.released = a.Ref, ""
	default:
		d.ClaimRef = a.Ref
	}
	d.Fence, d.ResourceVersion = a.Fence, w.next()
}
