package volumes

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// emptyWorld is one ordinal between two sides: the objects that their API servers store, and pending writes.
// Writes may arrive late, after the migration was reversed.
type emptyWorld struct {
	sides [2]Holding
	// disks are the volumes by side and name; the claim of a side's Holding names one of them.
	disks [2]map[string]Volume
	late  []lateWrite
	// ran is the number of the latest start of the ordinal on a volume, by handle.
	ran                   map[string]int
	starts, serial, epoch int
	// giver is the side that the ordinal leaves. runs is the side of its pod, -1 for neither. booted is true
	// once the pod has its volume.
	giver, runs int
	booted      bool
	// asked is true once the volume was pointed back with the user's confirmation, for the next start.
	asked bool
	word  Word
	// instant is true if the class binds at once, not for the first pod.
	instant bool
}

type lateWrite struct {
	side   int
	action Action
}

func newEmptyWorld(t *rapid.T) *emptyWorld {
	w := &emptyWorld{ran: map[string]int{"d/h": 1}, starts: 1, epoch: 1, booted: true, instant: rapid.Bool().Draw(t, "binds at once")}
	w.sides = [2]Holding{held("east", corev1.PersistentVolumeReclaimDelete), empty("west")}
	w.disks = [2]map[string]Volume{{"pv": w.sides[0].Volume}, {}}
	w.word = Word{FillsFromPeers: true, FilledShown: true, ReturnsToKept: rapid.Bool().Draw(t, "returns")}
	return w
}

func (w *emptyWorld) version() string {
	w.serial++
	return strconv.Itoa(w.serial + 100)
}

func (w *emptyWorld) holding(side int) Holding {
	h := w.sides[side]
	h.Volume = w.disks[side][h.Claim.Volume]
	return h
}

func (w *emptyWorld) pair() Pair {
	return Pair{Fence: owner + "." + strconv.Itoa(w.epoch), Owner: owner, Giver: w.holding(w.giver), Taker: w.holding(1 - w.giver), Template: "data", Word: w.word}
}

// send queues the write that a verdict requests; false if it requests none.
func (w *emptyWorld) send(t *rapid.T, verdict Verdict) bool {
	if verdict.Action == nil {
		return false
	}
	w.asked = w.asked || verdict.Action.Verb == Point && w.word.ReturnsToKept
	side := 1 - w.giver
	if verdict.Action.AtGiver {
		side = w.giver
	}
	write := lateWrite{side, *verdict.Action}
	if rapid.IntRange(0, 3).Draw(t, "late") == 0 {
		w.late = append(w.late, write)
	} else {
		w.arrive(t, write)
	}
	return true
}

// arrive processes a write as the API server does: it is refused if the object has changed.
func (w *emptyWorld) arrive(t *rapid.T, write lateWrite) {
	action, h := write.action, &w.sides[write.side]
	switch action.Verb {
	case CreateClaim:
		if !h.Claim.Found {
			h.Claim = Claim{Found: true, UID: types.UID("claim" + w.version()), ResourceVersion: w.version(), Phase: corev1.ClaimPending, Ours: true, Fence: action.Fence, Volume: action.Volume}
		}
		return
	case MarkClaim:
		if h.Claim.UID == action.UID && h.Claim.ResourceVersion == action.ResourceVersion {
			h.Claim.Fence, h.Claim.Calls, h.Claim.ResourceVersion = action.Fence, action.Calls, w.version()
		}
		return
	default:
		w.arriveAtVolume(t, write)
	}
}

func (w *emptyWorld) arriveAtVolume(t *rapid.T, write lateWrite) {
	action := write.action
	volume := w.disks[write.side][action.Volume]
	if !volume.Found || volume.UID != action.UID || volume.ResourceVersion != action.ResourceVersion {
		return
	}
	if !volume.ClaimRef.Names(action.After.ClaimRef) && volume.Policy != corev1.PersistentVolumeReclaimRetain {
		t.Fatalf("I3: %s is pointed elsewhere without Retain", volume.Name)
	}
	volume = volume.In(action.After)
	volume.ResourceVersion = w.version()
	w.disks[write.side][action.Volume] = volume
}

// bind acts as the binder and the provisioner of both sides.
func (w *emptyWorld) bind() {
	for side := range w.sides {
		h := &w.sides[side]
		if h.Claim.Found && h.Claim.Volume == "" && (w.instant || w.runs == side) {
			name := "pvc" + w.version()
			h.Claim.Volume, h.Claim.ResourceVersion = name, w.version()
			w.disks[side][name] = Volume{
				Found: true, Name: name, UID: types.UID(name), Handle: "d/" + name, ResourceVersion: w.version(), Policy: corev1.PersistentVolumeReclaimDelete,
				Phase: corev1.VolumeBound, ClaimRef: Ref{Namespace: h.Ref.Namespace, Name: h.Ref.Name, UID: h.Claim.UID},
			}
		}
		volume := w.disks[side][h.Claim.Volume]
		if volume.Found && volume.ClaimRef.Names(h.Ref) && volume.ClaimRef.UID == "" {
			volume.ClaimRef.UID, volume.ResourceVersion = h.Claim.UID, w.version()
		}
		volume.Phase = corev1.VolumeBound
		if volume.ClaimRef.UID == "" {
			volume.Phase = corev1.VolumeAvailable
		}
		if volume.Found {
			w.disks[side][volume.Name] = volume
		}
		phase := corev1.ClaimLost
		if volume.Found && volume.ClaimRef.UID == h.Claim.UID && volume.ClaimRef.Names(h.Ref) {
			phase = corev1.ClaimBound
		}
		if h.Claim.Found && h.Claim.Volume != "" && h.Claim.Phase != phase {
			h.Claim.Phase, h.Claim.ResourceVersion = phase, w.version()
		}
	}
}

// pass performs the planner's next step for the ordinal.
func (w *emptyWorld) pass(t *rapid.T) {
	switch w.runs {
	case w.giver:
		if refusal(Empty{}, w.pair(), BeforeStop) != nil {
			return
		}
		if verdict := (Empty{}).Prepare(w.pair()); !w.send(t, verdict) && verdict.Done() {
			w.runs = -1
		}
	case -1:
		verdict := Empty{}.Transfer(w.pair())
		if !w.send(t, verdict) && verdict.Done() {
			w.runs, w.booted = 1-w.giver, false
		}
	}
}

// boot starts a pod whose claim is bound, and checks its volume (I2, I3).
func (w *emptyWorld) boot(t *rapid.T) {
	if w.runs < 0 || w.booted || !w.holding(w.runs).Bound() {
		return
	}
	w.booted = true
	at, left := w.holding(w.runs), w.holding(1-w.runs)
	handle := at.Volume.Handle
	before, known := w.ran[handle]
	switch {
	case left.Volume.Found && w.ran[left.Volume.Handle] > 0 && left.Bound():
		t.Fatalf("I2: it starts on %s, and %s is usable on the other side", handle, left.Volume.Handle)
	case known && before < w.starts && !w.asked:
		t.Fatalf("I3: it starts on %s, as old as start %d of %d, and nobody has said that it may", handle, before, w.starts)
	}
	w.starts++
	w.asked = false
	w.ran[handle] = w.starts
}

// check verifies that no volume that the ordinal has ever run on is lost (I3).
func (w *emptyWorld) check(t *rapid.T) {
	for side, disks := range w.disks {
		for _, volume := range disks {
			bound := volume.ClaimRef.Names(w.sides[side].Ref)
			if w.ran[volume.Handle] > 0 && !bound && (volume.Policy != corev1.PersistentVolumeReclaimRetain || !volume.ClaimRef.Names(Parked(w.sides[side].Ref))) {
				t.Fatalf("I3: volume %s has left its claim and is not kept: %+v", volume.Name, volume)
			}
		}
	}
	if w.runs < 0 || !w.booted {
		return
	}
	if left := w.holding(1 - w.runs); left.Bound() && w.ran[left.Volume.Handle] > 0 {
		t.Fatalf("I2: %s is usable, and the ordinal runs on the other side", left.Volume.Handle)
	}
	if !w.holding(w.runs).Bound() {
		t.Fatalf("I3: the volume was taken from under the ordinal: %+v", w.holding(w.runs))
	}
}

// TestEmptyMachine: whatever writes arrive late, and however often a move is reversed, an ordinal starts on an
// allowed volume. That is an empty volume, the one that it never left, or, with the user's confirmation, a kept
// one. The other side's volume is then not usable, and no volume that the ordinal ran on is lost.
func TestEmptyMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newEmptyWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"pass":    w.pass,
			"binder":  func(*rapid.T) { w.bind() },
			"kubelet": w.boot,
			"word":    func(*rapid.T) { w.word.ReturnsToKept = !w.word.ReturnsToKept },
			"turn": func(*rapid.T) {
				w.giver, w.epoch = 1-w.giver, w.epoch+1
			},
			"late": func(t *rapid.T) {
				if len(w.late) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(w.late)-1).Draw(t, "which")
				write := w.late[i]
				w.late = append(w.late[:i:i], w.late[i+1:]...)
				w.arrive(t, write)
			},
			"": w.check,
		})
	})
}
