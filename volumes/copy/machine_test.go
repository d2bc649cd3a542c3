package copy

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/internal/volumestest"
)

// kubelet starts a mover whose claim is bound, and removes one that is being deleted.
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
	p, ref := w.Places[m.side], volumes.Ref{Namespace: w.Places[m.side].Ref.Namespace, Name: m.claim}
	switch m.role {
	case volumes.RoleReceiver:
		m.mounted = p.Bound(p.Incoming[m.claim], ref)
	case volumes.RoleWarm:
		m.mounted = w.reads(m)
	default:
		if m.mounted = p.Bound(p.Outgoing, ref); m.claim == p.Ref.Name {
			m.mounted = p.Own()
		}
	}
	switch {
	case m.mounted != nil && m.role == volumes.RoleReceiver && !w.mounts(m):
		m.Ended, m.mounted, m.ResourceVersion = true, nil, w.Next()
	case m.mounted != nil && m.fresh && m.mounted.Content != 0:
		m.Ended, m.mounted, m.ResourceVersion = true, nil, w.Next()
		m.Result.Holds = "theirs"
	case m.mounted != nil:
		m.Key, m.ResourceVersion = "key-"+string(m.UID), w.Next()
	}
}

// names returns the names of the movers, in order.
func (w *world) names() []string { return slices.Sorted(maps.Keys(w.movers)) }

// peers returns the running senders and receivers that know each other, including those that are being deleted.
func (w *world) peers() (all [][2]*pod) {
	for _, a := range w.names() {
		for _, b := range w.names() {
			s, r := w.movers[a], w.movers[b]
			if s.role != volumes.RoleReceiver && r.role == volumes.RoleReceiver && s.mounted != nil && r.mounted != nil && s.Peer == r.Key && r.Peer == s.Key && s.Key != "" {
				all = append(all, [2]*pod{s, r})
			}
		}
	}
	return all
}

// talk performs one event of each pair of movers: bytes are copied, all or some of them, or the pass ends for
// one of them.
func (w *world) talk(what int) {
	for _, pair := range w.peers() {
		w.talkOf(what, pair[0], pair[1])
	}
}

func (w *world) talkOf(what int, s, r *pod) {
	switch {
	case what == 0 && !r.Ended && !s.Ended:
		r.mounted.Content = -s.mounted.Content // half of it
	case what == 1 && !r.Ended && !s.Ended:
		r.mounted.Content = s.mounted.Content
	case what == 2 && !r.Ended && !s.Ended:
		w.end(r, r.Warm || r.mounted.Content == s.mounted.Content)
	case what == 3 && !s.Ended && r.Ended && r.Key != "":
		w.end(s, true)
	}
}

// end ends a mover with the result of its pass. In a warm pass it compares nothing.
func (w *world) end(m *pod, equal bool) {
	m.Ended, m.ResourceVersion = true, w.Next()
	m.Result = volumes.MoverResult{Done: equal, Locked: m.role == volumes.RoleReceiver && !w.nodes.lockless, Seconds: 1}
	switch {
	case m.Warm, m.verify == api.CopyVerifyLater && m.role == volumes.RoleSender: // it reads nothing for a proof
	default:
		m.Result.Root, m.Result.Verify = strconv.Itoa(m.mounted.Content), m.verify
	}
	if !equal {
		m.Result.Differs = "etc/passwd"
	}
}

// actions returns all possible events, in any order.
func (w *world) actions() map[string]func(*rapid.T) {
	return w.Actions(map[string]func(*rapid.T){
		"binder":  func(*rapid.T) { w.binder() },
		"driver":  func(*rapid.T) { w.driver() },
		"kubelet": func(t *rapid.T) { w.kubelet(volumestest.AnyOf(t, w.movers)) },
		"talk":    func(t *rapid.T) { w.talk(rapid.IntRange(0, 3).Draw(t, "what")) },
		"the handoff ends": func(t *rapid.T) {
			if w.Runs == 1-w.Giver && (Copy{}).Ahead(w.Pair(), volumes.Withdrawn).Done() {
				w.drop(t)
			}
		},
		"it is not to be stopped": func(t *rapid.T) {
			if w.Runs == w.Giver && rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
				w.drop(t)
			}
		},
		"its turn comes, or not yet": func(t *rapid.T) {
			w.early = w.Runs == w.Giver && rapid.Bool().Draw(t, "early")
		},
		"its pod moves, or is unwell": func(t *rapid.T) {
			w.node, w.unready = rapid.IntRange(0, 1).Draw(t, "node"), rapid.IntRange(0, 3).Draw(t, "unready") == 0
		},
		"the transport changes": func(t *rapid.T) { w.relayed = rapid.IntRange(0, 3).Draw(t, "relayed") == 0 },
		"the Service is to be another one": func(t *rapid.T) {
			w.kind = rapid.SampledFrom([]string{"", "node port ", "load balancer "}).Draw(t, "kind")
		},
		"it rests": func(t *rapid.T) {
			if action := (Copy{}).Ahead(w.Pair(), volumes.Withdrawn).Action; action != nil {
				w.Arrive(t, w.Write(*action))
			}
		},
		"a mover dies": func(t *rapid.T) {
			if m := w.movers[volumestest.AnyOf(t, w.movers)]; m != nil && rapid.IntRange(0, 5).Draw(t, "dies") == 0 && !m.Ended {
				m.Ended, m.ResourceVersion = true, w.Next()
			}
		},
		"somebody deletes a mover that has ended": func(t *rapid.T) {
			if name := volumestest.AnyOf(t, w.movers); name != "" && w.movers[name].Ended {
				delete(w.movers, name)
			}
		},
		"it is copied only once it is down, or not": func(t *rapid.T) { w.cold = rapid.IntRange(0, 3).Draw(t, "cold") == 0 },
		"volumes are attached, or not":              func(t *rapid.T) { w.attaches = rapid.IntRange(0, 3).Draw(t, "attaches") == 0 },
		"a disk fails": func(t *rapid.T) {
			if m := w.movers[volumestest.AnyOf(t, w.movers)]; m != nil && rapid.IntRange(0, 20).Draw(t, "fails") == 0 && !m.Ended && m.role == volumes.RoleReceiver {
				m.Ended, m.Result.Torn, m.ResourceVersion = true, true, w.Next()
			}
		},
	})
}

// drop performs the next step before a handoff ends, and then ends it.
func (w *world) drop(t *rapid.T) {
	if write := w.Drop(t); write != nil {
		w.Send(t, *write)
	}
}

// Check verifies the invariants of World and of movers: no mover can write into a volume that the ordinal can
// mount, and a volume with a valid seal has everything that the ordinal has written.
func (w *world) Check(t volumestest.Failer) {
	w.World.Check(t)
	w.checkWarm(t)
	w.checkOrphans(t)
	if w.twice != "" {
		t.Fatalf("claim %s is made a second time, and may get the same directory", w.twice)
	}
	for _, p := range w.Places {
		d := p.Own()
		for name, m := range w.movers {
			if d != nil && m.role == volumes.RoleReceiver && m.mounted == d && !m.Ended {
				t.Fatalf("mover %s can still write into volume %s", name, d.Name)
			}
		}
	}
	w.checkTheirs(t)
	for _, pair := range w.peers() {
		if s := pair[0]; s.role == volumes.RoleSender && !s.Ended && !pair[1].Ended && w.Places[s.side].Own() != nil {
			t.Fatalf("I3: the last pass runs, and volume %s can be mounted under the ordinal's name", s.mounted.Name)
		}
	}
	if v := volumes.HandingOf(w.Pair()); v.Sealed() && w.Runs == volumestest.Nowhere && !v.Taken() {
		if to := w.Places[1-w.From()].Disks[v.Incoming.Volume.Name]; to.Content != w.Written {
			t.Fatalf("I3: a seal counts, and the copy has %d, the ordinal %d", to.Content, w.Written)
		}
	}
}

// checkStarted verifies that no mover of the attempt runs when the ordinal has started on its copy.
func (w *world) checkStarted(t volumestest.Failer) {
	for _, claim := range []volumes.Ref{w.Places[0].Ref, w.Places[1].Ref} {
		for _, role := range []volumes.Role{volumes.RoleReceiver, volumes.RoleSender, volumes.RoleWarm} {
			if m := w.movers[PodName(role, claim, owner, w.Record.Number)]; m != nil && m.mounted != nil && !m.Ended {
				t.Fatalf("I2: the ordinal starts on its copy, and its %s still has volume %s mounted", role, m.mounted.Name)
			}
		}
	}
}

// TestCopyMachine: whatever arrives late, dies or is reversed, an ordinal starts on its data. At no time can
// two volumes be mounted under its name, or can a mover write into the one that can. The incoming claim exists
// until the ordinal's claim is bound.
func TestCopyMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.alone = rapid.Bool().Draw(t, "for one pod alone")
		t.Repeat(w.actions())
	})
}

// TestCopyMachineOfSeveral: the same holds for an ordinal with other claims, all of which exist before any gets
// a pod; and the copy completes.
func TestCopyMachineOfSeveral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorldOf(ofSeveral{})
		w.several = true
		w.alone = rapid.Bool().Draw(t, "for one pod alone")
		t.Repeat(w.actions())
		w.heals(t)
	})
}

// heals stops all failures: the copy completes.
func (w *world) heals(t *rapid.T) {
	w.Epoch, w.OnTheirWay = w.Epoch+1, nil
	w.Record.Passes, w.unready, w.early = 0, false, false
	w.Arrives(t)
	w.expectNoBase(t)
}

// TestCopyArrives: if nothing fails for long, a copy completes, after any earlier events.
func TestCopyArrives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.alone = rapid.Bool().Draw(t, "for one pod alone")
		t.Repeat(w.actions())
		w.heals(t)
	})
}

// TestCopyLimitMachine: the same holds if an ordinal is taken back at any time, once it has been copied for too
// long.
func TestCopyLimitMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.limit = time.Duration(rapid.IntRange(1, 30).Draw(t, "limit")) * time.Second
		t.Repeat(w.actions())
	})
}

// TestCopyLimit: an ordinal whose movers report nothing is back on its former volume soon after its limit,
// without a copy for its way back. Without a limit it stays down.
func TestCopyLimit(t *testing.T) {
	w := newWorld()
	w.mute, w.limit = true, time.Minute
	for w.Runs == w.Giver {
		w.Step(t)
	}
	for w.Runs == volumestest.Nowhere {
		if down := w.Now.Sub(w.stopped); down > w.limit+20*time.Second {
			t.Fatalf("it is down for %s: %+v", down, w.Pair().Copy)
		}
		w.Step(t)
	}
	if own := w.Places[0].Own(); w.Runs != 0 || w.Giver != 1 || own == nil || own.Name != "pv" || w.Record.Giver != "0" || w.Now.Sub(w.stopped) <= w.limit {
		t.Fatalf("it runs at side %d: %+v", w.Runs, w.Pair())
	}
	w.limit = 0
	w.Turn()
	for range 300 {
		w.Step(t)
	}
	if w.Runs != volumestest.Nowhere {
		t.Fatalf("it runs at side %d without its data", w.Runs)
	}
}
