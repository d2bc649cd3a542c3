package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
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
	began, total := time.Now(), newTally()
	for seed := first; seed < first+runs; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			onBench.do(t, total, func(a *attempt) { chaos(a, uint64(seed)) })
		})
	}
	total.bury(onBench.deaths(began))
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

// storm is one run.
type storm struct {
	*move
	random *rand.Rand
	client client.Client
	crew   *crew
	way    *proxy
	tally  *tally
	// mode is what the user wants at the moment; turn is after how many faults it becomes
	// Rollback.
	mode    api.Mode
	turn    int
	faulted int
}

// chaos is one run: it breaks things until the migration is at its end or has had
// enough, mends everything, and waits for the end.
func chaos(a *attempt, seed uint64) {
	s := newStorm(a, rand.New(rand.NewPCG(seed, seed))) //nolint:gosec // it shall be repeatable
	s.crew = startCrew(a, s.app.Namespace)
	s.must(s.client.Create(s.ctx, s.m))
	s.rage()
	s.end()
}

// newStorm deploys what is moved.
func newStorm(a *attempt, random *rand.Rand, more ...setting) *storm {
	a.Helper()
	app, settings := drawApp(random)
	s := &storm{move: newMove(a, app, append(settings, more...)...), random: random, tally: a.tally, mode: api.ModeRun, turn: 1 + random.IntN(3*mostFaults)}
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
	s.tally.ran(len(verdict.Ordinals))
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
	s.tally.add(f.name)
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
