package copy

import (
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// pass does what the planner does next; what it writes may be late.
func (w *world) pass(t *rapid.T) {
	write := w.decide(t)
	// A record is one object that all processes write by its resourceVersion: none of it is late.
	if write != nil && write.Verb != Record && write.Verb != Begin && rapid.IntRange(0, 4).Draw(t, "late") == 0 {
		w.onTheirWay = append(w.onTheirWay, *write)
		w.epoch++ // who has no answer to a write goes on under a new fence
		return
	}
	if write != nil {
		w.arrive(t, *write)
	}
}

// decide is the next write, if there is one; a stop and a start are made at once.
func (w *world) decide(t *rapid.T) *late {
	v := w.view()
	var verdict Verdict
	switch {
	case w.runs == atTaker:
		verdict = Transfer(v) // the names that it came under go
	case w.runs == atGiver:
		if verdict = Prepare(v); verdict.Done() && v.Stays {
			w.runs = nowhere
		}
	case w.back && !v.Taken():
		if verdict = Back(v); verdict.Done() {
			w.runs = atGiver
			w.mustMount(t, bind(w.giver, w.from), "at the giver again")
		}
	default:
		if v.Taken() && bind(w.taker, w.to[w.attempt]) || Transfer(v).Done() {
			w.start(t)
			return nil
		}
		verdict = Transfer(v)
	}
	if verdict.Action == nil {
		return nil
	}
	return &late{*verdict.Action, w.attempt}
}

func (w *world) mustMount(t *rapid.T, can bool, what string) {
	if !can {
		t.Fatalf("I3: the ordinal is started %s, and cannot mount its volume: %+v", what, w.from.Volume)
	}
}

// start checks what the ordinal starts on at the taker (I2, I3 for Copy).
func (w *world) start(t *rapid.T) {
	to := w.to[w.attempt]
	w.mustMount(t, bind(w.taker, to), "at the taker")
	switch {
	case bind(w.giver, w.from):
		t.Fatal("I2: the giver's volume can be mounted while the ordinal starts at the taker")
	case to.content != w.from.content:
		t.Fatalf("I3: it starts on %d, and the giver has %d", to.content, w.from.content)
	case w.writerOf(to) != nil:
		t.Fatalf("a mover can still write into the sealed volume: %+v", w.writerOf(to))
	}
	w.runs = atTaker
	w.started++
}

// writerOf is the receiver that has a volume mounted.
func (w *world) writerOf(d *disk) *pod {
	if m := w.movers[Receiver]; m != nil && m.mounted == d {
		return m
	}
	return nil
}

// kubelet starts a mover whose claim is bound, and removes one that is to go.
func (w *world) kubelet(t *rapid.T) {
	w.kubeletOf(rapid.SampledFrom([]Role{Receiver, Warm, Last}).Draw(t, "role"))
}

func (w *world) kubeletOf(role Role) {
	m := w.movers[role]
	if m == nil {
		return
	}
	if m.Terminating {
		delete(w.movers, role)
		return
	}
	if m.mounted != nil {
		return
	}
	switch {
	case role == Receiver && bind(w.incoming[m.Attempt], w.to[m.Attempt]):
		m.mounted = w.to[m.Attempt]
	case role == Warm && bind(w.giver, w.from) || role == Last && bind(w.outgoing, w.from):
		m.mounted = w.from
	default:
		return
	}
	m.Key, m.ResourceVersion = "key-"+string(m.UID), w.next()
}

// talk has a sender and the receiver at work on the pass that both were told: bytes are carried over,
// all of them or some, or the pass ends, for one of both.
func (w *world) talk(t *rapid.T) {
	sender := w.movers[rapid.SampledFrom([]Role{Warm, Last}).Draw(t, "sender")]
	receiver := w.movers[Receiver]
	if sender == nil || receiver == nil || sender.mounted == nil || receiver.mounted == nil || sender.Ended || receiver.Ended {
		return
	}
	w.exchange(sender, receiver, rapid.IntRange(0, 3).Draw(t, "what"))
}

// exchange is one thing that two movers do together.
func (w *world) exchange(sender, receiver *pod, what int) {
	together := sender.Order.Pass == receiver.Order.Pass && sender.Order.Peer == receiver.Key && receiver.Order.Peer == sender.Key && sender.Order.Pass > 0
	if !together || receiver.Result.Order == receiver.Order {
		w.end(sender, together)
		return
	}
	switch what {
	case 0:
		receiver.mounted.content = -sender.mounted.content // half of it
	case 1:
		receiver.mounted.content = sender.mounted.content
	default:
		w.end(receiver, true)
	}
}

// end is a mover that says what it has found in a pass.
func (w *world) end(m *pod, met bool) {
	if !met || m.Result.Order == m.Order {
		return
	}
	m.Result = Result{Order: m.Order, Root: strconv.Itoa(m.mounted.content), Compared: true, Nth: m.Result.Nth + 1}
	m.ResourceVersion = w.next()
}

// actions are all that can happen, in any order.
func (w *world) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"pass": w.pass, "pass again": w.pass, "binder": func(*rapid.T) { w.binder() }, "kubelet": w.kubelet, "talk": w.talk, "talk more": w.talk,
		"all do as they should": w.step, "all do as they should again": w.step, "all do as they should for long": func(t *rapid.T) {
			for range 6 {
				w.step(t)
			}
		},
		"turn": func(t *rapid.T) {
			if w.runs != atTaker && rapid.IntRange(0, 3).Draw(t, "turns") == 0 {
				w.back, w.epoch = !w.back, w.epoch+1
			}
		},
		"the application writes": func(*rapid.T) {
			if w.runs == atGiver {
				w.from.content++
			}
		},
		"somebody starts a pod at the giver": func(*rapid.T) {
			if w.runs != atGiver && bind(w.giver, w.from) {
				w.from.content++
			}
		},
		"a mover dies": func(t *rapid.T) {
			if m := w.movers[rapid.SampledFrom([]Role{Receiver, Warm, Last}).Draw(t, "role")]; m != nil && rapid.IntRange(0, 5).Draw(t, "dies") == 0 {
				m.Ended, m.ResourceVersion = true, w.next()
			}
		},
		"a write comes late": func(t *rapid.T) {
			if len(w.onTheirWay) > 0 {
				i := rapid.IntRange(0, len(w.onTheirWay)-1).Draw(t, "which")
				write := w.onTheirWay[i]
				w.onTheirWay = slices.Delete(slices.Clone(w.onTheirWay), i, i+1)
				w.arrive(t, write)
			}
		},
		"": w.check,
	}
}

// check is what holds at any instant.
func (w *world) check(t *rapid.T) {
	if w.twice != "" {
		t.Fatalf("claim %s is made a second time, and may get the same directory", w.twice)
	}
	if w.runs == atGiver && !bind(w.giver, w.from) {
		t.Fatalf("I3: the volume was taken from under the ordinal: %+v", w.from.Volume)
	}
	if w.runs == atTaker && (bind(w.giver, w.from) || !bind(w.taker, w.to[w.attempt])) {
		t.Fatalf("I2: the ordinal runs at the taker; the giver's volume: %+v, its own: %+v", w.from.Volume, w.to[w.attempt].Volume)
	}
	// Giver unmountable since its stop, for as long as a seal counts.
	if v := w.view(); v.sealed() && w.runs != atGiver && v.Giver.Volume.ClaimRef.Names(giverRef) {
		t.Fatalf("a seal counts, and the giver's volume can be mounted: %+v", w.from.Volume)
	}
	if v := w.view(); v.sealed() && w.runs == nowhere && w.to[w.attempt].content != w.from.content {
		t.Fatalf("I3: a seal counts, and the copy has %d, the giver %d", w.to[w.attempt].content, w.from.content)
	}
	for _, m := range w.movers {
		if Healthy(m.UID, true, m.UID) {
			t.Fatal("a mover is counted as healthy")
		}
	}
}

// TestCopyMachine: whatever comes late, dies or turns round, an ordinal starts on a sealed volume, which is
// what the giver has; that could not be mounted since its stop; no mover can write into it; and the
// incoming claim is there until the ordinal's claim is bound.
func TestCopyMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		t.Repeat(w.actions())
	})
}

// TestCopyArrives: where nothing fails for long a copy comes to its end, also after all that can happen.
func TestCopyArrives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		t.Repeat(w.actions())
		w.back, w.epoch, w.onTheirWay = false, w.epoch+1, nil
		for range 400 {
			w.step(t)
			if w.runs == atTaker && Transfer(w.view()).Done() {
				return
			}
		}
		t.Fatalf("it does not end: %+v", w.view())
	})
}

// step lets everybody act once as they should.
func (w *world) step(t *rapid.T) {
	w.binder()
	for _, role := range []Role{Receiver, Warm, Last} {
		w.kubeletOf(role)
	}
	for _, role := range []Role{Warm, Last} {
		w.copyAll(role)
	}
	if write := w.decide(t); write != nil {
		w.arrive(t, *write)
	}
	w.check(t)
}

// copyAll has a pass carried over as a whole.
func (w *world) copyAll(role Role) {
	sender, receiver := w.movers[role], w.movers[Receiver]
	if sender == nil || receiver == nil || sender.mounted == nil || receiver.mounted == nil || sender.Ended || receiver.Ended {
		return
	}
	for _, what := range []int{1, 2, 2} {
		w.exchange(sender, receiver, what)
	}
}

// TestLateTakeOver: a take-over that was decided before the move turned round is refused afterwards: the
// copy would bear the ordinal's name, as old as it is.
func TestLateTakeOver(t *testing.T) {
	due := until(t, func(w *world) bool {
		action := Transfer(w.view()).Action
		return w.runs == nowhere && action != nil && action.Verb == TakeOver
	})
	rapid.Check(t, func(t *rapid.T) {
		if due.runs == atGiver {
			return // it was turned round by the first of these checks
		}
		write := due.decide(t)
		due.back, due.epoch = true, due.epoch+1
		for range 100 {
			if due.runs != atGiver {
				due.step(t)
			}
		}
		if due.runs != atGiver {
			t.Fatalf("it does not come back: %+v", due.view())
		}
		due.arrive(t, *write)
		if due.view().Taken() {
			t.Fatalf("the late write was let in: %+v", due.to[due.attempt].Volume)
		}
	})
}

// TestLateWayBack: a volume that was about to be pointed back when the move went on again is not pointed
// back under a seal.
func TestLateWayBack(t *testing.T) {
	out := until(t, func(w *world) bool { return w.runs == nowhere && w.outgoing.Phase == corev1.ClaimBound })
	rapid.Check(t, func(t *rapid.T) {
		if out.sealed.Root != "" {
			return // it went on in the first of these checks
		}
		out.back, out.epoch = true, out.epoch+1
		var write *late
		for range 100 {
			if write = out.decide(t); write != nil && write.Verb == PointBack {
				break
			}
			out.step(t)
		}
		out.back, out.epoch = false, out.epoch+1
		for range 100 {
			if !out.view().sealed() {
				out.step(t)
			}
		}
		out.arrive(t, *write)
		if out.check(t); !out.view().sealed() || out.view().Giver.Volume.ClaimRef.Names(giverRef) {
			t.Fatalf("the late write was let in: %+v", out.from.Volume)
		}
	})
}
