// Package volumestest simulates a world to test methods that fill a second volume. It has one ordinal between two
// sides, and the claims and volumes that their API servers store. Binders act at any time, users start a pod where
// they should not, and writes arrive late. The tests of each method add the movers or snapshots that carry the
// data.
package volumestest

import (
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// Owner is the UID of the migration.
const Owner = "migration"

// Nowhere is the location of an ordinal that runs on neither side.
const Nowhere = -1

// Failer fails a test.
type Failer interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

// Disk is a volume of the world with its content: the number of the application's last write on it. A partial
// copy is negative, and an empty disk has 0.
type Disk struct {
	volumes.Volume
	Content int
}

// Late is a write to a side, which may arrive long after it was decided.
type Late struct {
	volumes.Action
	Side int
}

// Place holds the objects that an API server stores for the ordinal.
type Place struct {
	Ref      volumes.Ref
	Claim    volumes.Claim
	Incoming map[string]volumes.Claim
	Outgoing volumes.Claim
	Disks    map[string]*Disk
}

// Surroundings is a world with the means that carry the data. A type that embeds a World overrides the parts
// that differ.
type Surroundings interface {
	// Pair returns the pair that an observer sees.
	Pair() volumes.Pair
	// Leave returns the step that is due while the ordinal runs at the giver. When it is done, the ordinal is
	// stopped.
	Leave(pair volumes.Pair) volumes.Verdict
	// Decide returns the next write; nil if there is none.
	Decide(t Failer) *Late
	// Arrive processes a write as an API server does.
	Arrive(t Failer, write Late)
	// Act lets everything but the migration act once as intended.
	Act()
	// Check fails the test if an invariant is violated.
	Check(t Failer)
}

// World is one ordinal between two sides.
type World struct {
	Epoch int
	Now   time.Time
	// Giver is the side that the ordinal leaves in the present direction, and Runs is the side where it runs.
	Giver, Runs int
	Record      api.CopyAttempt
	Places      [2]*Place
	OnTheirWay  []Late
	// Written is the application's last write.
	Written int
	// Around is the world with the means that carry the data.
	Around Surroundings

	method volumes.Method
	serial int
	// last is the highest number of any attempt.
	last int32
}

// New returns a world in which the ordinal runs at the first side. Its Around must be set.
func New(method volumes.Method) *World {
	w := &World{Epoch: 1, Written: 1, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), method: method}
	for i, namespace := range []string{"east", "west"} {
		w.Places[i] = &Place{Ref: volumes.Ref{Namespace: namespace, Name: "data-web-0"}, Incoming: map[string]volumes.Claim{}, Disks: map[string]*Disk{}}
	}
	east := w.Places[0]
	east.Claim = volumes.Claim{Found: true, UID: "giver", ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: "pv"}
	east.Disks["pv"] = &Disk{Content: 1, Volume: volumes.Volume{
		Found: true, Name: "pv", UID: "pv", ResourceVersion: "1", Handle: "d/pv", Policy: corev1.PersistentVolumeReclaimDelete, Phase: corev1.VolumeBound,
		ClaimRef: volumes.Ref{Namespace: "east", Name: "data-web-0", UID: "giver"},
	}}
	return w
}

// Next returns a string that was never used before, for names, UIDs and resourceVersions.
func (w *World) Next() string {
	w.serial++
	return strconv.Itoa(w.serial + 100)
}

// Fence returns the fence under which the migration acts now.
func (w *World) Fence() string { return Owner + "." + strconv.Itoa(w.Epoch) }

// From returns the side that the recorded attempt carries the data from.
func (w *World) From() int {
	from, err := strconv.Atoi(w.Record.Giver)
	if err != nil {
		return w.Giver
	}
	return from
}

// Pair returns the pair that an observer sees, without the means that carry the data.
func (w *World) Pair() volumes.Pair {
	w.last = max(w.last, w.Record.Number)
	seen := volumes.Copying{Now: w.Now, Attempt: w.Record, LastAttempt: w.last, Stopped: w.Runs != w.From()}
	pair := volumes.Pair{Separate: true, Fence: w.Fence(), Owner: Owner, Giver: w.Places[w.Giver].Holding(), Taker: w.Places[1-w.Giver].Holding(), Template: "data", Copy: &seen}
	if w.Record.Number == 0 {
		return pair
	}
	giver, taker := w.Places[w.From()], w.Places[1-w.From()]
	seen.Back = w.From() != w.Giver
	in := volumes.IncomingRef(taker.Ref, Owner, w.Record.Number)
	seen.Outgoing = volumes.Holding{Ref: giver.Out(), Claim: giver.Outgoing, Volume: giver.Volume(giver.Claim.Volume)}
	seen.Incoming = volumes.Holding{Ref: in, Claim: taker.Incoming[in.Name]}
	name := w.Record.Seal.Volume
	if seen.Incoming.Claim.Volume != "" {
		name = seen.Incoming.Claim.Volume
	}
	seen.Incoming.Volume = taker.Volume(name)
	return pair
}

// Volume returns a copy of a disk's object; zero if there is none.
func (p *Place) Volume(name string) volumes.Volume {
	if d := p.Disks[name]; d != nil {
		return d.Volume
	}
	return volumes.Volume{}
}

// Holding returns a place's holding for the ordinal's own claim.
func (p *Place) Holding() volumes.Holding {
	return volumes.Holding{Ref: p.Ref, Claim: p.Claim, Volume: p.Volume(p.Claim.Volume)}
}

// Out names the outgoing claim.
func (p *Place) Out() volumes.Ref { return volumes.OutgoingRef(p.Ref, Owner) }

// Bound returns the disk of a claim that can be mounted; nil if it cannot.
func (p *Place) Bound(claim volumes.Claim, ref volumes.Ref) *Disk {
	d := p.Disks[claim.Volume]
	if d == nil || !claim.Found || claim.UID == "" || d.ClaimRef.UID != claim.UID || !d.ClaimRef.Names(ref) {
		return nil
	}
	return d
}

// Own returns the volume that can be mounted under the ordinal's name; nil if none can.
func (p *Place) Own() *Disk { return p.Bound(p.Claim, p.Ref) }

// Act lets the binders of both sides act.
func (w *World) Act() {
	for _, p := range w.Places {
		for name, claim := range p.Incoming {
			p.Incoming[name] = w.bind(p, volumes.Ref{Namespace: p.Ref.Namespace, Name: name}, claim)
		}
		p.Claim, p.Outgoing = w.bind(p, p.Ref, p.Claim), w.bind(p, p.Out(), p.Outgoing)
		for name, d := range p.Disks {
			if d.Policy == corev1.PersistentVolumeReclaimDelete && p.orphan(d) {
				delete(p.Disks, name)
				continue
			}
			phase := corev1.VolumeBound
			if d.ClaimRef.UID == "" {
				phase = corev1.VolumeAvailable
			}
			if d.Phase != phase {
				d.Phase, d.ResourceVersion = phase, w.Next()
			}
		}
	}
}

// orphan reports whether a disk was bound to a claim that no longer exists.
func (p *Place) orphan(d *Disk) bool {
	claims := append(slices.Collect(maps.Values(p.Incoming)), p.Claim, p.Outgoing)
	return d.ClaimRef.UID != "" && !slices.ContainsFunc(claims, func(c volumes.Claim) bool { return c.Found && c.UID == d.ClaimRef.UID })
}

// bind returns a claim after a binder has processed it and the volume that it names.
func (w *World) bind(p *Place, ref volumes.Ref, claim volumes.Claim) volumes.Claim {
	d := p.Disks[claim.Volume]
	if !claim.Found || d == nil {
		return claim
	}
	if d.ClaimRef.Names(ref) && d.ClaimRef.UID == "" {
		d.ClaimRef.UID, d.ResourceVersion = claim.UID, w.Next()
	}
	phase := corev1.ClaimLost
	if p.Bound(claim, ref) != nil {
		phase = corev1.ClaimBound
	}
	if claim.Phase != phase {
		claim.Phase, claim.ResourceVersion = phase, w.Next()
	}
	return claim
}

// Provision creates the volume of an incoming claim, of a CSI driver and with a content.
func (w *World) Provision(p *Place, claimName, driver string, content int) {
	claim, name := p.Incoming[claimName], "pvc-"+w.Next()
	claim.Volume, claim.ResourceVersion = name, w.Next()
	p.Incoming[claimName] = claim
	p.Disks[name] = &Disk{Content: content, Volume: volumes.Volume{
		Found: true, Name: name, UID: types.UID(name), ResourceVersion: w.Next(), Handle: driver + "/" + name, Policy: corev1.PersistentVolumeReclaimDelete, Phase: corev1.VolumeBound,
		ClaimRef: volumes.Ref{Namespace: p.Ref.Namespace, Name: claimName, UID: claim.UID},
	}}
}
