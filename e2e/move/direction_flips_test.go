package move

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/testbed"
)

// Environment variables for the duration and the number of Migrations. The defaults give a short run.
const (
	flipsVariable           = "SLICESHIFT_SWING"
	flipsMigrationsVariable = "SLICESHIFT_SWING_MIGRATIONS"
	defaultFlips            = 15 * time.Second
	defaultFlipsMigrations  = 3
)

func flipTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(flipsVariable)
	if text == "" {
		return defaultFlips
	}
	lasts, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s=%s is no duration", flipsVariable, text)
	}
	return lasts
}

// TestSwing: one leading and one standby manager drive many Migrations whose direction changes repeatedly,
// while the shared parts fail. In the end all of them complete, and each auditor agrees.
func TestSwing(t *testing.T) {
	lasts, migrations := flipTime(t), harness.FromEnvironment(t, flipsMigrationsVariable, defaultFlipsMigrations)
	seed := uint64(harness.FromEnvironment(t, chaosSeedVariable, 1))
	began, total := time.Now(), testbed.NewTally()
	var turns int32
	harness.Repeat(t, total, func(a *testbed.Attempt) {
		random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it shall be repeatable
		runs := make([]*chaosRun, migrations)
		for i := range runs {
			runs[i] = newChaosRun(a, rand.New(rand.NewPCG(random.Uint64(), 0)), outlasting(lasts)) //nolint:gosec // the same
		}
		turns = flipDirections(a, random, runs, lasts)
	})
	total.Bury(harness.Deaths(began))
	t.Logf("%d Migrations turned round %d times in %s; %s", migrations, turns, lasts, total)
	harness.WriteFigures(t, "swing", fmt.Sprintf("%d Migrations at once, turned round %d times in %s. %s", migrations, turns, lasts, total.Sentence()))
}

// flipDirections executes one run. It drives all Migrations, injects faults for the duration, and returns the
// number of changes of direction.
func flipDirections(a *testbed.Attempt, random *rand.Rand, runs []*chaosRun, lasts time.Duration) int32 {
	a.Helper()
	managers := harness.StartManagerReplicas(a, "")
	for _, r := range runs {
		r.managers = managers
		r.Must(r.client.Create(r.Ctx, r.Migration))
	}
	until := time.Now().Add(lasts)
	var turns atomic.Int32
	var flipping sync.WaitGroup
	a.Cleanup(flipping.Wait)
	for _, r := range runs {
		own := rand.New(rand.NewPCG(random.Uint64(), 1)) //nolint:gosec // it shall be repeatable
		flipping.Go(func() {
			if err := r.flipDirection(own, until, &turns); err != nil {
				a.Errorf("%s: %v", r.Migration.Namespace, err)
			}
		})
	}
	for time.Now().Before(until) {
		r := runs[random.IntN(len(runs))]
		harness.Sleep(r.Ctx, r.upTo(longestCalm))
		r.one(r.shared())
	}
	awaitAll(a, runs, &flipping)
	for _, r := range runs {
		r.end()
	}
	return turns.Load()
}

// awaitAll waits for the Migrations that still move and logs the reason for which each waits.
func awaitAll(a *testbed.Attempt, runs []*chaosRun, flipping *sync.WaitGroup) {
	a.Helper()
	done := make(chan struct{})
	go func() {
		flipping.Wait()
		close(done)
	}()
	tick := time.NewTicker(30 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			for _, r := range runs {
				if line := r.waitsFor(); line != "" {
					a.Log(line)
				}
			}
		}
	}
}

// waitsFor returns a line about a Migration that has not completed.
func (r *chaosRun) waitsFor() string {
	m := &api.Migration{}
	if err := r.client.Get(r.Ctx, client.ObjectKeyFromObject(r.Migration), m); err != nil {
		return fmt.Sprintf("%s: %v", r.Migration.Namespace, err)
	}
	if r.over(m) != "" {
		return ""
	}
	words := []string{fmt.Sprintf("%s: mode %s, %d moved", m.Namespace, m.Spec.Mode, m.Status.Moved)}
	for _, c := range m.Status.Conditions {
		if c.Status == metav1.ConditionTrue {
			words = append(words, fmt.Sprintf("%s since %s: %s: %s", c.Type, c.LastTransitionTime.Format(time.TimeOnly), c.Reason, c.Message))
		}
	}
	return strings.Join(words, "; ")
}

// outlasting gives a move the time of the faults plus more than the usual time limit, because many Migrations
// share two processors.
func outlasting(lasts time.Duration) harness.Setting {
	return func(v *harness.Move) {
		ctx, cancel := context.WithTimeout(v.T.Context(), lasts+4*harness.TimeLimit())
		v.T.Cleanup(cancel)
		v.Ctx = ctx
	}
}

// shared returns the faults that do not change the mode, because flipDirection changes it.
func (r *chaosRun) shared() []fault {
	return slices.DeleteFunc(r.faults(), func(f fault) bool { return f.name == aPause || f.name == aChange })
}

// flipDirection rolls the migration back when some ordinals have moved, and moves it forward when all are back.
// After its time is over, it waits until all ordinals have moved.
func (r *chaosRun) flipDirection(random *rand.Rand, until time.Time, turns *atomic.Int32) error {
	for time.Now().Before(until) {
		some := 1 + random.Int32N(r.App.Replicas-1)
		if err := r.until(func(m *api.Migration) bool { return m.Status.Moved >= some || r.over(m) != "" }); err != nil {
			return fmt.Errorf("waiting until %d ordinals have moved: %w", some, err)
		}
		turns.Add(1)
		if err := r.setMode(api.ModeRollback); err != nil {
			return err
		}
		moved := false
		err := r.until(func(m *api.Migration) bool {
			moved = r.over(m) == api.ReasonMoved
			return r.over(m) != ""
		})
		if err != nil {
			return fmt.Errorf("waiting until all ordinals are back: %w", err)
		}
		if err := r.setMode(api.ModeRun); err != nil {
			return err
		}
		if moved {
			return nil
		}
	}
	return r.until(func(m *api.Migration) bool { return r.over(m) == api.ReasonMoved })
}

// over returns the reason of completion of a Migration that has completed in its current mode, or "".
func (r *chaosRun) over(m *api.Migration) string {
	completed := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted)
	if completed == nil || completed.Status != metav1.ConditionTrue || m.Status.ObservedGeneration != m.Generation {
		return ""
	}
	if completed.Reason == api.ReasonRolledBack && m.Spec.Mode == api.ModeRun {
		return "" // it starts again
	}
	return completed.Reason
}

// until waits until the Migration satisfies a condition.
func (r *chaosRun) until(condition func(*api.Migration) bool) error {
	const again = 100 * time.Millisecond
	m := &api.Migration{}
	err := wait.PollUntilContextCancel(r.Ctx, again, true, func(ctx context.Context) (bool, error) {
		return r.client.Get(ctx, client.ObjectKeyFromObject(r.Migration), m) == nil && condition(m), nil
	})
	if err != nil {
		return fmt.Errorf("%w; status: %+v", err, m.Status)
	}
	return nil
}
