package decide

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// sharedBudget is a PodDisruptionBudget with maxUnavailable over the pods of several worlds, with the eviction subresource
// of its API server and the disruption controller. Both see outdated states, as informers show them.
type sharedBudget struct {
	t      failer
	worlds []*world
	most   int32
	policy bool // unhealthyPodEvictionPolicy: AlwaysAllow
	// status is what the API server has stored, in a version. Each world decides on the copy in shown.
	status  budgetStatus
	shown   map[*world]budgetStatus
	charges map[*Pod]time.Time
	// informed is the state of the pods that the disruption controller sees.
	informed map[*world][]Pod
	// refuses is true while the API server evicts no pod, for a reason that the status does not show.
	refuses bool
	evicted int
}

type budgetStatus struct {
	Budget
	version   int
	disrupted map[string]time.Time
}

func newShared(t failer, most int32, worlds ...*world) *sharedBudget {
	s := &sharedBudget{t: t, worlds: worlds, most: most, shown: map[*world]budgetStatus{}, charges: map[*Pod]time.Time{}, informed: map[*world][]Pod{}}
	for _, w := range worlds {
		w.run()
		w.within = s
		w.in.Spec.Evicts, w.in.Now = true, noon.Add(24*time.Hour)
	}
	s.settle()
	return s
}

// settle shows the present state to all participants.
func (s *sharedBudget) settle() {
	for _, w := range s.worlds {
		s.inform(w)
	}
	s.sync()
	for _, w := range s.worlds {
		s.show(w)
	}
}

func (s *sharedBudget) show(w *world) {
	copied := s.status
	copied.disrupted = maps.Clone(s.status.disrupted)
	s.shown[w] = copied
}

func (s *sharedBudget) inform(w *world) {
	s.informed[w] = nil
	for _, ordinal := range w.ordinals() {
		s.informed[w] = append(s.informed[w], *w.pods[ordinal])
	}
}

func (s *sharedBudget) nameOf(w *world, ordinal int32) string {
	for i, other := range s.worlds {
		if other == w {
			return fmt.Sprintf("%d/%d", i, ordinal)
		}
	}
	return ""
}

// sync computes the status from what the disruption controller sees.
func (s *sharedBudget) sync() {
	next := budgetStatus{
		Budget:  Budget{Name: "shared", Observed: true, AlwaysAllow: s.policy},
		version: s.status.version + 1, disrupted: map[string]time.Time{},
	}
	for _, w := range s.worlds {
		next.Expected += w.in.Spec.Replicas
		for i := range s.informed[w] {
			pod := &s.informed[w][i]
			name := s.nameOf(w, pod.Ordinal)
			at, disrupted := s.status.disrupted[name]
			if disrupted = disrupted && w.in.Now.Sub(at) < 2*time.Minute && !pod.Terminating; disrupted {
				next.disrupted[name] = at
			}
			next.Healthy += one(ready(pod) && !pod.Terminating && !disrupted)
		}
	}
	next.Desired = next.Expected - s.most
	next.Allowed = max(0, next.Healthy-next.Desired)
	s.status = next
}

func (s *sharedBudget) view(w *world, pod *Pod) {
	if s == nil {
		return
	}
	at, disrupted := s.shown[w].disrupted[s.nameOf(w, pod.Ordinal)]
	pod.Budgets = []string{"shared"}
	pod.Charged = disrupted && w.in.Now.Sub(at) < time.Minute
	pod.OwnCharge = disrupted && s.charges[w.pods[pod.Ordinal]].Equal(at)
}

func (s *sharedBudget) viewAll(w *world, in *Input) {
	if s != nil {
		in.Budgets.All = []Budget{s.shown[w].Budget}
	}
}

// grants is the eviction subresource of the API server.
func (s *sharedBudget) grants(w *world, pod *Pod) bool {
	b := &s.status
	switch {
	case s.refuses:
		return false
	case pod.Phase == Pending, !ready(pod) && (b.AlwaysAllow || b.Healthy >= b.Desired && b.Desired > 0):
		return true
	case b.Allowed <= 0:
		return false
	}
	b.Allowed--
	b.version++
	b.disrupted[s.nameOf(w, pod.Ordinal)] = w.in.Now
	return true
}

// write charges or releases the budget, unless it has changed since it was shown.
func (s *sharedBudget) write(w *world, a Action, pod *Pod) bool {
	if s.shown[w].version != s.status.version {
		return false
	}
	s.status.version++
	name := s.nameOf(w, a.Ordinal)
	if a.Verb == ReleaseBudget {
		delete(s.status.disrupted, name)
		return true
	}
	if s.status.Allowed <= 0 {
		s.t.Fatalf("ordinal %s is charged to a budget that allows none", name)
	}
	s.status.Allowed--
	s.status.disrupted[name], s.charges[pod] = w.in.Now, w.in.Now
	return true
}

func (w *world) evict(a Action, pod *Pod) {
	w.t.Helper()
	switch {
	case w.within == nil:
		w.t.Fatalf("evicted without a budget: %+v", a)
	case !w.within.grants(w, pod):
		w.failing[a.Ordinal] = true
		w.in.Refused = append(w.in.Refused, Refusal{Verb: Evict, Ordinal: a.Ordinal, UID: a.UID, Message: "the budget", At: w.in.Now})
	default:
		w.within.evicted++
		pod.Terminating, pod.GoneBy = true, w.in.Now.Add(w.lingers)
	}
}

// keepsBudget fails if more pods are unavailable than the budget allows.
func (s *sharedBudget) keepsBudget() {
	healthy, expected := int32(0), int32(0)
	for _, w := range s.worlds {
		expected += w.in.Spec.Replicas
		for _, pod := range w.pods {
			healthy += one(ready(pod) && !pod.Terminating && (pod.InPlace == nil || pod.InPlace.Serves))
		}
	}
	if healthy < expected-s.most {
		s.t.Fatalf("%d of %d pods are healthy, and %d may be unavailable", healthy, expected, s.most)
	}
}

// pass advances all clocks, and lets a world decide and all kubelets act.
func (s *sharedBudget) pass(fresh bool) {
	for _, w := range s.worlds {
		w.in.Now = w.in.Now.Add(10 * time.Second)
		if fresh {
			s.settle()
		}
		w.reconcile(1000)
		s.keepsBudget()
		for _, ordinal := range w.ordinals() {
			w.on(w.pods[ordinal])
		}
	}
}

// TestSeveralSetsKeepOneBudget: whatever the informers of two controllers and of the disruption controller show, two sets
// under one PodDisruptionBudget together never have more pods unavailable than it allows, and both roll-outs end.
func TestSeveralSetsKeepOneBudget(t *testing.T) {
	t.Run("kubernetes#89820, kubernetes#91808: two roll-outs at once", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			var worlds []*world
			for range 2 {
				spec := slice(rapid.Int32Range(2, 4).Draw(t, "replicas"), "", unavailable(rapid.Int32Range(1, 4).Draw(t, "maxUnavailable"))).Spec
				spec.Parallel = rapid.Bool().Draw(t, "parallel")
				spec.Policy = rapid.SampledFrom([]api.PodUpdatePolicy{api.ReCreate, api.InPlaceIfPossible}).Draw(t, "policy")
				spec.TopologyKey = rapid.SampledFrom([]string{"", "zone"}).Draw(t, "topologyKey")
				w := newWorld(t, spec)
				w.zones = map[int32]string{0: "a", 1: "b", 2: "a", 3: "b"}
				worlds = append(worlds, w)
			}
			s := newShared(t, rapid.Int32Range(1, 3).Draw(t, "of the budget"), worlds...)
			one := func(t *rapid.T) *world { return rapid.SampledFrom(worlds).Draw(t, "world") }
			t.Repeat(map[string]func(*rapid.T){
				"": func(*rapid.T) { s.keepsBudget() },
				"roll": func(t *rapid.T) {
					one(t).in.Revisions.Update = rapid.SampledFrom([]string{"a2", "a3", "b1"}).Draw(t, "template")
				},
				"reconcile": func(t *rapid.T) {
					one(t).reconcile(rapid.SampledFrom([]int{1, 2, 1000}).Draw(t, "actions"))
				},
				"kubelet": func(t *rapid.T) {
					w := one(t)
					if ordinals := w.ordinals(); len(ordinals) > 0 {
						w.on(w.pods[rapid.SampledFrom(ordinals).Draw(t, "ordinal")])
					}
				},
				"show":    func(t *rapid.T) { s.show(one(t)) },
				"inform":  func(t *rapid.T) { s.inform(one(t)) },
				"sync":    func(*rapid.T) { s.sync() },
				"refuses": func(*rapid.T) { s.refuses = !s.refuses },
				"time": func(t *rapid.T) {
					on := time.Duration(rapid.IntRange(1, 40).Draw(t, "on")) * time.Second
					for _, w := range worlds {
						s.inform(w) // informers are not minutes late
						w.in.Now = w.in.Now.Add(on)
					}
				},
			})
			s.refuses = false
			for _, w := range worlds {
				w.in.Revisions.Update = "c1"
			}
			for range 200 {
				s.pass(true)
			}
			for _, w := range worlds {
				if d := Decide(w.observe()); !d.Complete {
					t.Fatalf("the roll-out does not end: %+v; %v", d.Held, w.observeSorted())
				}
			}
		})
	})
}

// TestBudgetOfOthers: while another writer uses the budget up, nothing is evicted, charged or tried.
func TestBudgetOfOthers(t *testing.T) {
	w := newWorld(t, slice(3, "", parallel, unavailable(3)).Spec)
	s := newShared(t, 1, w)
	s.status.Allowed, s.status.Healthy = 0, s.status.Desired
	s.show(w)
	w.in.Revisions.Update = "b1"
	for range 20 {
		w.in.Now = w.in.Now.Add(time.Minute)
		d := w.reconcile(1000)
		if short(d) != "" || heldAs(d, 2) != HeldDisruption || d.Wait == 0 || d.Wait > latestRead {
			t.Fatalf("%q, held %+v, again after %s", short(d), d.Held, d.Wait)
		}
	}
	for range 60 {
		s.pass(true)
	}
	if d := Decide(w.observe()); !d.Complete || s.evicted != 3 {
		t.Errorf("%d pods were evicted: %+v", s.evicted, d.Held)
	}
}
