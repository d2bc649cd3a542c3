package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Chaos runs are repeated by their seeds: the same faults come in the same order,
// although not at the same moments.
const (
	chaosRunsVariable = "SLICESHIFT_CHAOS_RUNS"
	chaosSeedVariable = "SLICESHIFT_CHAOS_SEED"
	defaultChaosRuns  = 3
)

// TestChaos moves applications while everything around them breaks: managers, API
// servers, etcd, controllers, the way between the clusters, pods and budgets. The
// auditor has to agree with each run, and each run has to end.
func TestChaos(t *testing.T) {
	runs, first := fromEnvironment(t, chaosRunsVariable, defaultChaosRuns), fromEnvironment(t, chaosSeedVariable, 1)
	total := &tally{faults: map[string]int{}}
	for seed := first; seed < first+runs; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { chaos(t, uint64(seed), total) })
	}
	t.Logf("%s", total)
	tellFigures(t, "chaos", total.sentence())
}

func fromEnvironment(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < 0 {
		t.Fatalf("%s=%s is no number", name, text)
	}
	return value
}

// tally is what all runs together did.
type tally struct {
	mu       sync.Mutex
	runs     int
	handoffs int
	faults   map[string]int
}

func (s *tally) add(fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[fault]++
}

// String is a table.
func (s *tally) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	sum := 0
	for _, fault := range slices.Sorted(maps.Keys(s.faults)) {
		fmt.Fprintf(&b, "\n  %4d  %s", s.faults[fault], fault)
		sum += s.faults[fault]
	}
	return fmt.Sprintf("%d runs, %d handoffs, %d faults:%s", s.runs, s.handoffs, sum, b.String())
}

// sentence is the same for the documentation.
func (s *tally) sentence() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	kinds, sum := make([]string, 0, len(s.faults)), 0
	for _, fault := range slices.Sorted(maps.Keys(s.faults)) {
		kinds = append(kinds, fmt.Sprintf("%s (%d)", fault, s.faults[fault]))
		sum += s.faults[fault]
	}
	return fmt.Sprintf("%d runs, %d handoffs, %d faults, 0 violations: %s.", s.runs, s.handoffs, sum, strings.Join(kinds, "; "))
}

// storm is one run.
type storm struct {
	*move
	random *rand.Rand
	client client.Client
	crew   *crew
	way    *proxy
	total  *tally
	// mode is what the user wants at the moment; turn is after how many faults it becomes
	// Rollback.
	mode    api.Mode
	turn    int
	faulted int
}

// chaos is one run: it breaks things until the migration is at its end or has had
// enough, mends everything, and waits for the end.
func chaos(t *testing.T, seed uint64, total *tally) {
	s := newStorm(t, rand.New(rand.NewPCG(seed, seed)), total) //nolint:gosec // it shall be repeatable
	s.crew = startCrew(t, s.app.Namespace)
	s.must(s.client.Create(s.ctx, s.m))
	s.rage()
	s.end()
}

// newStorm deploys what is moved.
func newStorm(t *testing.T, random *rand.Rand, total *tally, more ...setting) *storm {
	t.Helper()
	app, settings := drawApp(random)
	s := &storm{move: newMove(t, app, append(settings, more...)...), random: random, total: total, mode: api.ModeRun, turn: 1 + random.IntN(3*mostFaults)}
	s.client = s.managed()
	s.detour()
	return s
}

// end waits for the end of the migration, and judges it.
func (s *storm) end() {
	s.t.Helper()
	condition := s.await(s.client, api.ConditionCompleted, metav1.ConditionTrue)
	if condition.Reason == api.ReasonMoved {
		s.expectMoved()
	} else {
		s.expectBack()
	}
	verdict := s.audit()
	s.t.Logf("%s after %d faults: %s", condition.Reason, s.faulted, verdict)
	s.total.mu.Lock()
	defer s.total.mu.Unlock()
	s.total.runs, s.total.handoffs = s.total.runs+1, s.total.handoffs+len(verdict.Ordinals)
}

// drawApp chooses what is moved, and where to.
func drawApp(random *rand.Rand) (fixture.App, []setting) {
	budget := 1 + random.IntN(2)
	app := fixture.App{Replicas: int32(3 + random.IntN(3)), MaxUnavailable: intOrString(strconv.Itoa(budget)), Annotations: map[string]string{
		"e2e.sliceshift.io/ready-delay": fmt.Sprintf("%dms", random.IntN(2000)), "e2e.sliceshift.io/delete-delay": fmt.Sprintf("%dms", random.IntN(1000)),
	}}
	if random.IntN(4) > 0 {
		app.Claims = []string{"data"}
	}
	if random.IntN(2) == 0 {
		app.Policy = parallel
	}
	settings := []setting{withBudget(int32(budget)), acrossClusters}
	if random.IntN(4) == 0 {
		settings[1] = acrossNamespaces
	}
	if random.IntN(2) == 0 {
		settings = append(settings, withSpec(lowestFirst))
	}
	return app, settings
}

// detour puts the proxy between the manager and the destination.
func (s *storm) detour() {
	s.t.Helper()
	target := strings.TrimPrefix(s.to.RESTConfig().Host, "https://")
	s.way = startProxy(s.t, target)
	if s.to == s.from {
		return
	}
	path, err := s.to.UserKubeconfig("mover")
	s.must(err)
	data, err := os.ReadFile(path)
	s.must(err)
	s.useKubeconfig([]byte(strings.ReplaceAll(string(data), target, s.way.address())))
}

// Bounds of a run.
const (
	mostFaults    = 12
	longestCalm   = 1500 * time.Millisecond
	longestFault  = 3 * time.Second
	shortestFault = 200 * time.Millisecond
)

// rage lets one fault after the other happen until the migration is at its end, or has
// had enough.
func (s *storm) rage() {
	s.t.Helper()
	all := s.faults()
	for range mostFaults {
		pass(s.ctx, s.upTo(longestCalm))
		if s.completed() {
			return
		}
		if s.faulted == s.turn {
			s.t.Log("from now on: back")
			s.mode = api.ModeRollback
			s.must(s.setMode(s.mode))
		}
		s.one(all)
	}
}

// one of the faults happens.
func (s *storm) one(of []fault) {
	s.t.Helper()
	f := of[s.random.IntN(len(of))]
	lasts := shortestFault + s.upTo(longestFault)
	s.t.Logf("fault: %s for %s", f.name, lasts.Round(time.Millisecond))
	s.total.add(f.name)
	s.faulted++
	if err := f.happen(lasts); err != nil {
		s.t.Fatalf("%s: %v", f.name, err)
	}
}

func (s *storm) upTo(longest time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(longest)))
}

func (s *storm) completed() bool {
	m := &api.Migration{}
	err := s.client.Get(s.ctx, client.ObjectKeyFromObject(s.m), m)
	return err == nil && meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionCompleted)
}

func (s *storm) setMode(mode api.Mode) error {
	patch := fmt.Sprintf(`{"spec":{"mode":%q}}`, mode)
	return s.insist(func(ctx context.Context) error {
		return s.client.Patch(ctx, &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: s.m.Namespace, Name: s.m.Name}}, client.RawPatch(types.MergePatchType, []byte(patch)))
	})
}
