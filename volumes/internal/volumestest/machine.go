package volumestest

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// pass performs the next step of the planner; its write may arrive late.
func (w *World) pass(t *rapid.T) {
	write := w.Around.Decide(t)
	if write != nil {
		w.Send(t, *write)
	}
}

// Send lets a write arrive, now or late.
func (w *World) Send(t *rapid.T, write Late) {
	if rapid.IntRange(0, 4).Draw(t, "late") == 0 {
		w.OnTheirWay = append(w.OnTheirWay, write)
		w.Epoch++ // a process without an answer to its write continues under a new fence
		return
	}
	w.Around.Arrive(t, write)
}

// Drop returns the next write before a handoff ends; nil if a record was written, or the handoff has ended.
func (w *World) Drop(t Failer) *Late {
	pair := w.Around.Pair()
	switch verdict := w.method.Ahead(pair, volumes.Dropped); {
	case verdict.Attempt != nil:
		w.Record = *verdict.Attempt
	case verdict.Action != nil:
		return new(w.Write(*verdict.Action))
	default:
		if in := pair.Copy.Incoming; in.Claim.Found && !in.Volume.Chosen {
			t.Fatalf("claim %s is left, and nothing continues with it: %+v", in.Ref.Name, in)
		}
		w.End()
	}
	return nil
}

// Leave makes the giver's volume survive the loss of its claim.
func (w *World) Leave(pair volumes.Pair) volumes.Verdict { return w.method.Prepare(pair) }

// Decide returns the next write; nil if there is none. A record is written at once: all processes write it by
// its resourceVersion, so no late write of it succeeds. A stop and a start also take effect at once.
func (w *World) Decide(t Failer) *Late {
	pair, taker := w.Around.Pair(), 1-w.Giver
	if w.Runs == taker {
		return nil
	}
	verdict := w.method.Transfer(pair)
	if w.Runs == w.Giver {
		if verdict = w.Around.Leave(pair); verdict.Done() {
			w.Runs = Nowhere
			return nil
		}
	} else if problem, _ := w.method.Check(pair, volumes.AfterStop); problem != nil {
		t.Fatalf("it is no longer known: %+v", problem)
	}
	switch {
	case verdict.Attempt != nil:
		w.Record = *verdict.Attempt
		if w.Record.Giver == "" {
			w.Record.Giver = strconv.Itoa(w.Giver)
		}
	case verdict.Done():
		w.start(t, taker)
	case verdict.Action != nil:
		return new(w.Write(*verdict.Action))
	case verdict.Call != nil:
		return &Late{*verdict.Call, taker}
	}
	return nil
}

// Write returns an action as a write to the side where it is done.
func (w *World) Write(action volumes.Action) Late {
	if action.AtGiver {
		return Late{action, w.Giver}
	}
	return Late{action, 1 - w.Giver}
}

// start checks the volume on which the ordinal starts (I2, I3).
func (w *World) start(t Failer, side int) {
	d := w.Places[side].Own()
	switch {
	case d == nil:
		t.Fatalf("I3: the ordinal is started at side %d, and cannot mount its volume: %+v", side, w.Around.Pair())
	case w.Places[1-side].Own() != nil:
		t.Fatal("I2: the other side's volume can be mounted while the ordinal starts")
	case d.Content != w.Written:
		t.Fatalf("I3: it starts on %d, and has written %d", d.Content, w.Written)
	}
	w.Runs = side
}

// AnyOf returns a random key of a map; empty if the map is empty.
func AnyOf[T any](t *rapid.T, all map[string]T) string {
	if len(all) == 0 {
		return ""
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(t, "which")
}

// Actions returns the events that can happen with any method, in any order, and the given others.
func (w *World) Actions(others map[string]func(*rapid.T)) map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"pass": w.pass, "pass again": w.pass,
		"turn": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "turns") == 0 {
				w.Turn()
			}
		},
		"the application writes": func(*rapid.T) {
			if w.Runs != Nowhere {
				w.put(w.Runs)
			}
		},
		"another client starts a pod": func(t *rapid.T) {
			side := rapid.IntRange(0, 1).Draw(t, "side")
			if w.Runs == Nowhere && w.Places[side].Own() != nil {
				w.put(side)
			}
		},
		"a write comes late": func(t *rapid.T) {
			if len(w.OnTheirWay) > 0 {
				i := rapid.IntRange(0, len(w.OnTheirWay)-1).Draw(t, "which")
				write := w.OnTheirWay[i]
				w.OnTheirWay = slices.Delete(slices.Clone(w.OnTheirWay), i, i+1)
				w.Around.Arrive(t, write)
			}
		},
		"": func(t *rapid.T) { w.Around.Check(t) },
	}
	for _, often := range []string{"all do as they should", "again", "once more"} {
		actions[often] = func(t *rapid.T) {
			for range 6 {
				w.Step(t)
			}
		}
	}
	maps.Copy(actions, others)
	return actions
}

// Turn reverses the move.
func (w *World) Turn() { w.Giver, w.Epoch = 1-w.Giver, w.Epoch+1 }

// End clears the attempt of a handoff that has ended.
func (w *World) End() {
	w.Record.Number, w.Record.Passes, w.Record.Warm, w.Record.Dropped = 0, 0, api.CopyWarm{}, false
	w.Record.Snapshot.Handle, w.Record.Snapshot.Number = "", 0
	w.Record.Seal.Root, w.Record.Seal.Volume = "", ""
	w.Now = w.Now.Add(time.Second) // a handoff takes longer than that
}

// put lets the application write on a side.
func (w *World) put(side int) {
	w.Written++
	w.Places[side].Own().Content = w.Written
}

// kept reports whether a disk has the last write of the ordinal.
func (w *World) kept() bool {
	for _, p := range w.Places {
		for _, d := range p.Disks {
			if d.Content == w.Written {
				return true
			}
		}
	}
	return false
}

// Check verifies the invariants that hold at any time. At most one volume can be mounted under the ordinal's
// name, and it has the ordinal's last write. Some disk always has that write.
func (w *World) Check(t Failer) {
	if !w.kept() {
		t.Fatalf("I3: no disk is left of what the ordinal has written: %d", w.Written)
	}
	if w.Places[0].Own() != nil && w.Places[1].Own() != nil {
		t.Fatalf("I2: both volumes can be mounted under the ordinal's name: %+v, %+v", w.Places[0].Own(), w.Places[1].Own())
	}
	if w.Runs != Nowhere && w.Places[w.Runs].Own() == nil {
		t.Fatalf("I3: the volume was taken from under the ordinal: %+v", w.Places[w.Runs])
	}
	for _, p := range w.Places {
		if d := p.Own(); d != nil && d.Content != w.Written {
			t.Fatalf("I3: volume %s can be mounted under the ordinal's name and has %d; it has written %d", d.Name, d.Content, w.Written)
		}
	}
}

// Tick advances the time by a second, and lets everything but the migration act once as intended.
func (w *World) Tick() {
	w.Now = w.Now.Add(time.Second)
	w.Around.Act()
}

// Step lets everything act once as intended.
func (w *World) Step(t Failer) {
	w.Tick()
	if write := w.Around.Decide(t); write != nil {
		w.Around.Arrive(t, *write)
	}
	w.Around.Check(t)
}

// Arrives lets everything act as intended until the ordinal runs at its target.
func (w *World) Arrives(t Failer) {
	for range 400 {
		w.Step(t)
		if w.Runs == 1-w.Giver {
			return
		}
	}
	t.Fatalf("it does not end: %+v\n%+v", w.Around.Pair(), w.Around.Pair().Copy)
}
