package copy

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/volumes"
)

// pass does what the planner does next; what it writes may be late.
func (w *world) pass(t *rapid.T) {
	write := w.decide(t)
	if write == nil {
		return
	}
	if rapid.IntRange(0, 4).Draw(t, "late") == 0 {
		w.onTheirWay = append(w.onTheirWay, *write)
		w.epoch++ // who has no answer to a write goes on under a new fence
		return
	}
	w.arrive(t, *write)
}

// decide is the next write, if there is one. A record is written at once: all processes write it by its
// resourceVersion, and none of it is late. So is a stop, and a start.
func (w *world) decide(t *rapid.T) *late {
	pair, taker := w.pair(), 1-w.giver
	if w.runs == taker {
		return nil
	}
	verdict := (Copy{}).Transfer(pair)
	if w.runs == w.giver {
		if verdict = (Copy{}).Prepare(pair); verdict.Done() {
			w.runs = nowhere
			return nil
		}
	} else if problem := (Copy{}).Confirm(pair, ""); problem != nil {
		t.Fatalf("it is not known any more: %+v", problem)
	}
	switch {
	case verdict.Attempt != nil:
		w.record = *verdict.Attempt
		if w.record.Giver == "" {
			w.record.Giver = strconv.Itoa(w.giver)
		}
	case verdict.Done():
		w.start(t, taker)
	case verdict.Action != nil:
		side := taker
		if (Copy{}).AtGiver(*verdict.Action) {
			side = w.giver
		}
		return &late{*verdict.Action, side}
	case verdict.Call != nil:
		return &late{*verdict.Call, taker}
	}
	return nil
}

// start checks what the ordinal starts on (I2, I3 for Copy).
func (w *world) start(t *rapid.T, side int) {
	d := w.places[side].own()
	switch {
	case d == nil:
		t.Fatalf("I3: the ordinal is started at side %d, and cannot mount its volume: %+v", side, w.pair())
	case w.places[1-side].own() != nil:
		t.Fatal("I2: the other side's volume can be mounted while the ordinal starts")
	case d.content != w.written:
		t.Fatalf("I3: it starts on %d, and has written %d", d.content, w.written)
	}
	w.runs = side
}

// kubelet starts a mover whose claim is bound, and removes one that is to go.
func (w *world) kubelet(name string) {
	m := w.movers[name]
	switch {
	case m == nil:
		return
	case m.Terminating:
		delete(w.movers, name)
		return
	case m.mounted != nil || m.Ended:
		return
	}
	p, ref := w.places[m.side], volumes.Ref{Namespace: w.places[m.side].ref.Namespace, Name: m.claim}
	if m.role == volumes.RoleReceiver {
		m.mounted = p.bound(p.incoming[m.claim], ref)
	} else {
		m.mounted = p.bound(p.outgoing, ref)
	}
	if m.mounted != nil {
		m.Key, m.ResourceVersion = "key-"+string(m.UID), w.next()
	}
}

// names are those of the movers, in order.
func (w *world) names() []string {
	names := []string{}
	for name := range w.movers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// anyMover is one of the movers; nil: there are none.
func (w *world) anyMover(t *rapid.T) (string, *pod) {
	names := w.names()
	if len(names) == 0 {
		return "", nil
	}
	name := rapid.SampledFrom(names).Draw(t, "mover")
	return name, w.movers[name]
}

// peers are a receiver and a sender that know each other and are at work, also those that are to go; nil: there
// are none.
func (w *world) peers() (sender, receiver *pod) {
	for _, a := range w.names() {
		for _, b := range w.names() {
			s, r := w.movers[a], w.movers[b]
			if s.role == volumes.RoleSender && r.role == volumes.RoleReceiver && s.mounted != nil && r.mounted != nil && s.Peer == r.Key && r.Peer == s.Key && s.Key != "" {
				return s, r
			}
		}
	}
	return nil, nil
}

// talk is one thing that two movers do together: bytes are carried over, all of them or some, or the pass ends, for
// one of both.
func (w *world) talk(what int) {
	s, r := w.peers()
	if s == nil {
		return
	}
	switch {
	case what == 0 && !r.Ended && !s.Ended:
		r.mounted.content = -s.mounted.content // half of it
	case what == 1 && !r.Ended && !s.Ended:
		r.mounted.content = s.mounted.content
	case what == 2 && !r.Ended && !s.Ended:
		w.end(r, r.mounted.content == s.mounted.content)
	case what == 3 && !s.Ended && r.Ended && r.Key != "":
		w.end(s, true)
	}
}

// end is a mover that says what it has found in its pass.
func (w *world) end(m *pod, equal bool) {
	m.Ended, m.ResourceVersion = true, w.next()
	m.Result = volumes.MoverResult{Done: equal, Root: strconv.Itoa(m.mounted.content)}
	if !equal {
		m.Result.Differs = "etc/passwd"
	}
}

// actions are all that can happen, in any order.
func (w *world) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"pass": w.pass, "pass again": w.pass, "binder": func(*rapid.T) { w.binder() },
		"kubelet": func(t *rapid.T) {
			name, _ := w.anyMover(t)
			w.kubelet(name)
		},
		"talk": func(t *rapid.T) { w.talk(rapid.IntRange(0, 3).Draw(t, "what")) },
		"turn": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "turns") == 0 {
				w.giver, w.epoch = 1-w.giver, w.epoch+1
			}
		},
		"the handoff ends": func(*rapid.T) {
			if w.runs == 1-w.giver {
				w.record.Number, w.record.Passes = 0, 0
				w.record.Seal.Root, w.record.Seal.Volume = "", ""
				w.now = w.now.Add(time.Second) // a handoff takes longer than that
			}
		},
		"the application writes": func(*rapid.T) {
			if w.runs != nowhere {
				w.write(w.runs)
			}
		},
		"somebody starts a pod": func(t *rapid.T) {
			side := rapid.IntRange(0, 1).Draw(t, "side")
			if w.runs == nowhere && w.places[side].own() != nil {
				w.write(side)
			}
		},
		"a mover dies": func(t *rapid.T) {
			if _, m := w.anyMover(t); m != nil && rapid.IntRange(0, 5).Draw(t, "dies") == 0 && !m.Ended {
				m.Ended, m.ResourceVersion = true, w.next()
			}
		},
		"a disk fails": func(t *rapid.T) {
			if _, m := w.anyMover(t); m != nil && rapid.IntRange(0, 20).Draw(t, "fails") == 0 && !m.Ended && m.role == volumes.RoleReceiver {
				m.Ended, m.Result.Torn, m.ResourceVersion = true, true, w.next()
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
	for _, often := range []string{"all do as they should", "again", "once more"} {
		actions[often] = func(t *rapid.T) {
			for range 6 {
				w.step(t)
			}
		}
	}
	return actions
}

func (w *world) write(side int) {
	w.written++
	w.places[side].own().content = w.written
}

// check is what holds at any instant.
func (w *world) check(t *rapid.T) {
	if w.twice != "" {
		t.Fatalf("claim %s is made a second time, and may get the same directory", w.twice)
	}
	if w.places[0].own() != nil && w.places[1].own() != nil {
		t.Fatalf("I2: both volumes can be mounted under the ordinal's name: %+v, %+v", w.places[0].own(), w.places[1].own())
	}
	if w.runs != nowhere && w.places[w.runs].own() == nil {
		t.Fatalf("I3: the volume was taken from under the ordinal: %+v", w.places[w.runs])
	}
	for _, p := range w.places {
		d := p.own()
		if d == nil {
			continue
		}
		if d.content != w.written {
			t.Fatalf("I3: volume %s can be mounted under the ordinal's name and has %d; it has written %d", d.Name, d.content, w.written)
		}
		for name, m := range w.movers {
			if m.role == volumes.RoleReceiver && m.mounted == d {
				t.Fatalf("mover %s can still write into volume %s", name, d.Name)
			}
		}
	}
	if v := viewOf(w.pair()); v.sealed() && w.runs == nowhere && !v.taken() {
		to := w.places[0].disks[v.c.Incoming.Volume.Name]
		if to == nil {
			to = w.places[1].disks[v.c.Incoming.Volume.Name]
		}
		if to.content != w.written {
			t.Fatalf("I3: a seal counts, and the copy has %d, the ordinal %d", to.content, w.written)
		}
	}
}

// TestCopyMachine: whatever comes late, dies or turns round, an ordinal starts on what it had; at no time two
// volumes can be mounted under its name; no mover can write into the one that can; and a claim that a copy came by
// is there until the ordinal's claim is bound.
func TestCopyMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { t.Repeat(newWorld().actions()) })
}

// TestCopyArrives: where nothing fails for long a copy comes to its end, also after all that can happen.
func TestCopyArrives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		t.Repeat(w.actions())
		w.epoch, w.onTheirWay = w.epoch+1, nil
		w.record.Passes = 0
		for range 400 {
			w.step(t)
			if w.runs == 1-w.giver {
				return
			}
		}
		t.Fatalf("it does not end: %+v\n%+v", w.pair(), w.pair().Copy)
	})
}

// step lets everybody act once as they should.
func (w *world) step(t *rapid.T) {
	w.now = w.now.Add(time.Second)
	w.binder()
	for _, name := range w.names() {
		w.kubelet(name)
	}
	for what := 1; what <= 3; what++ {
		w.talk(what)
	}
	if write := w.decide(t); write != nil {
		w.arrive(t, *write)
	}
	w.check(t)
}
