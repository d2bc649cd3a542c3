package move

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
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/testbed"
)

// Chaos runs can be repeated by seed: the same faults happen in the same order, but not at the same moments.
const (
	chaosRunsVariable = "SLICESHIFT_CHAOS_RUNS"
	chaosSeedVariable = "SLICESHIFT_CHAOS_SEED"
	defaultChaosRuns  = 4
)

// TestChaos moves applications, or replaces their volumes in place, while everything around them fails: managers, API servers, etcd, controllers,
// the network between the clusters, pods and budgets. Each run must end, and the auditor must agree with it.
func TestChaos(t *testing.T) {
	runs, first := harness.FromEnvironment(t, chaosRunsVariable, defaultChaosRuns), harness.FromEnvironment(t, chaosSeedVariable, 1)
	began, total := time.Now(), testbed.NewTally()
	for seed := first; seed < first+runs; seed++ {
		t.Run(fmt.Sprintf("%s, seed %d", chaosWays[seed%len(chaosWays)].name, seed), func(t *testing.T) {
			harness.Repeat(t, total, func(a *testbed.Attempt) { chaos(a, uint64(seed)) })
		})
	}
	total.Bury(harness.Deaths(began))
	t.Logf("%s", total)
	harness.WriteFigures(t, "chaos", total.Sentence())
}

// chaosRun is one run.
type chaosRun struct {
	*move
	random   *rand.Rand
	client   client.Client
	managers *harness.ManagerReplicas
	way      *proxy
	tally    *testbed.Tally
	// mode is the mode that the user currently wants. turn is the number of faults after which it becomes
	// Rollback.
	mode    api.Mode
	turn    int
	faulted int
	// copies is how the volumes are copied; nil if they are not.
	copies *api.CopySpec
}

// chaos executes one run. It injects faults until the migration has completed or the limit is reached, repairs
// them, and waits for the end.
func chaos(a *testbed.Attempt, seed uint64) {
	way, random := chaosWays[seed%uint64(len(chaosWays))], rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // it shall be repeatable
	carried := copiedBy(way.copies)
	if way.inPlace {
		carried = replacedInPlace(random)
	}
	r := newChaosRun(a, random, carried)
	if r.copies = way.copies; r.copies != nil {
		r.mayCopy()
	}
	r.managers = harness.StartManagerReplicas(a, r.App.Namespace)
	r.Must(r.client.Create(r.Ctx, r.Migration))
	if !way.inPlace {
		r.rage()
		r.end()
		return
	}
	app := r.writes()
	r.rage()
	r.endInPlace(app)
}

// newChaosRun deploys the application to move.
func newChaosRun(a *testbed.Attempt, random *rand.Rand, more ...harness.Setting) *chaosRun {
	a.Helper()
	app, settings := drawApp(random)
	r := &chaosRun{move: newMove(a, app, append(settings, more...)...), random: random, tally: a.Tally, mode: api.ModeRun, turn: 1 + random.IntN(3*mostFaults)}
	r.client = r.Managed()
	r.detour()
	return r
}

// end waits for the end of the migration and checks the result.
func (r *chaosRun) end() {
	r.T.Helper()
	condition := r.Await(r.client, api.ConditionCompleted, metav1.ConditionTrue)
	switch {
	case condition.Reason == api.ReasonMoved:
		r.ExpectMoved()
	case r.copies != nil:
		r.expectHome()
	default:
		r.ExpectBack()
	}
	if r.copies != nil {
		r.endCopies()
	}
	verdict := r.Audit()
	r.T.Logf("%s after %d faults, %s at once of a budget of %d: %s", condition.Reason, r.faulted, r.atOnce(), r.Budget, verdict)
	r.tally.Ran(len(verdict.Ordinals))
}

// atOnce returns how many ordinals may be in flight.
func (r *chaosRun) atOnce() string {
	if most := r.Migration.Spec.Handoff.MaxInFlight; most != nil {
		return most.String()
	}
	return "1"
}

// drawApp draws the application and its destination at random.
func drawApp(random *rand.Rand) (fixture.App, []harness.Setting) {
	budget := 1 + random.IntN(3)
	app := fixture.App{Replicas: int32(3 + random.IntN(3)), MaxUnavailable: harness.IntOrString(strconv.Itoa(budget)), Annotations: map[string]string{
		"e2e.sliceshift.io/ready-delay": fmt.Sprintf("%dms", random.IntN(2000)), "e2e.sliceshift.io/delete-delay": fmt.Sprintf("%dms", random.IntN(1000)),
	}}
	if random.IntN(4) > 0 {
		app.Claims = []string{"data"}
	}
	if random.IntN(2) == 0 {
		app.Policy = parallel
	}
	settings := []harness.Setting{harness.WithBudget(int32(budget)), harness.AcrossClusters}
	if len(app.Claims) > 0 { // without claims, one ordinal moves at a time
		most := intstr.FromInt(1 + random.IntN(budget))
		settings = append(settings, harness.WithSpec(func(s *api.MigrationSpec) { s.Handoff.MaxInFlight = &most }))
	}
	if random.IntN(4) == 0 {
		settings[1] = harness.AcrossNamespaces
	}
	if random.IntN(2) == 0 {
		settings = append(settings, harness.WithSpec(lowestFirst))
	}
	return app, settings
}

// detour inserts the proxy between the manager and the destination.
func (r *chaosRun) detour() {
	r.T.Helper()
	target := strings.TrimPrefix(r.To.RESTConfig().Host, "https://")
	r.way = startProxy(r.T, target)
	if r.To == r.From {
		return
	}
	path, err := r.To.UserKubeconfig("mover")
	r.Must(err)
	data, err := os.ReadFile(path)
	r.Must(err)
	r.useKubeconfig([]byte(strings.ReplaceAll(string(data), target, r.way.address())))
}

// Limits of a run.
const (
	mostFaults    = 12
	longestCalm   = 1500 * time.Millisecond
	longestFault  = 3 * time.Second
	shortestFault = 200 * time.Millisecond
)

// rage injects one fault after another until the migration has completed or the limit is reached.
func (r *chaosRun) rage() {
	r.T.Helper()
	all := r.faults()
	for range mostFaults {
		harness.Sleep(r.Ctx, r.upTo(longestCalm))
		if r.completed() {
			return
		}
		if r.faulted == r.turn {
			r.T.Log("from now on: back")
			r.mode = api.ModeRollback
			r.Must(r.setMode(r.mode))
		}
		r.one(all)
		if r.inPlace() {
			if _, err := r.tend(r.Ctx); err != nil {
				r.T.Log(err)
			}
		}
	}
}

// one injects a random fault.
func (r *chaosRun) one(of []fault) {
	r.T.Helper()
	f := of[r.random.IntN(len(of))]
	lasts := shortestFault + r.upTo(longestFault)
	r.T.Logf("fault: %s for %s", f.name, lasts.Round(time.Millisecond))
	r.tally.Add(f.name)
	r.faulted++
	if err := f.happen(lasts); err != nil {
		r.T.Fatalf("%s: %v", f.name, err)
	}
}

func (r *chaosRun) upTo(longest time.Duration) time.Duration {
	return time.Duration(r.random.Int64N(int64(longest)))
}

func (r *chaosRun) completed() bool {
	m := &api.Migration{}
	err := r.client.Get(r.Ctx, client.ObjectKeyFromObject(r.Migration), m)
	return err == nil && meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionCompleted)
}

func (r *chaosRun) setMode(mode api.Mode) error {
	patch := fmt.Sprintf(`{"spec":{"mode":%q}}`, mode)
	return r.insist(func(ctx context.Context) error {
		return r.client.Patch(ctx, &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: r.Migration.Namespace, Name: r.Migration.Name}}, client.RawPatch(types.MergePatchType, []byte(patch)))
	})
}
