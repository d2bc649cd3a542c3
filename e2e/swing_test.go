package e2e

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

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// A swing lasts as long as these say. Without them it is a short one.
const (
	swingVariable           = "SLICESHIFT_SWING"
	swingMigrationsVariable = "SLICESHIFT_SWING_MIGRATIONS"
	defaultSwing            = 15 * time.Second
	defaultSwingMigrations  = 3
)

func swingTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(swingVariable)
	if text == "" {
		return defaultSwing
	}
	lasts, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s=%s is no duration", swingVariable, text)
	}
	return lasts
}

// TestSwing lets one manager, and one that stands by, drive many Migrations at once,
// each turned round again and again, while what they share breaks. In the end all of
// them move to their end, and each auditor agrees.
func TestSwing(t *testing.T) {
	lasts, migrations := swingTime(t), fromEnvironment(t, swingMigrationsVariable, defaultSwingMigrations)
	seed := uint64(fromEnvironment(t, chaosSeedVariable, 1))
	began, total := time.Now(), newTally()
	var turns int32
	onBench.do(t, total, func(a *attempt) {
		random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it shall be repeatable
		storms := make([]*storm, migrations)
		for i := range storms {
			storms[i] = newStorm(a, rand.New(rand.NewPCG(random.Uint64(), 0)), outlasting(lasts)) //nolint:gosec // the same
		}
		turns = swing(a, random, storms, lasts)
	})
	total.bury(onBench.deaths(began))
	t.Logf("%d Migrations turned round %d times in %s; %s", migrations, turns, lasts, total)
	tellFigures(t, "swing", fmt.Sprintf("%d Migrations at once, turned round %d times in %s. %s", migrations, turns, lasts, total.sentence()))
}

// swing is one run: it drives all Migrations, breaks things as long as it lasts, and
// returns how many turns there were.
func swing(a *attempt, random *rand.Rand, storms []*storm, lasts time.Duration) int32 {
	a.Helper()
	crew := startCrew(a, "")
	for _, s := range storms {
		s.crew = crew
		s.must(s.client.Create(s.ctx, s.m))
	}
	until := time.Now().Add(lasts)
	var turns atomic.Int32
	var swinging sync.WaitGroup
	a.Cleanup(swinging.Wait)
	for _, s := range storms {
		own := rand.New(rand.NewPCG(random.Uint64(), 1)) //nolint:gosec // it shall be repeatable
		swinging.Go(func() {
			if err := s.swing(own, until, &turns); err != nil {
				a.Errorf("%s: %v", s.m.Namespace, err)
			}
		})
	}
	for time.Now().Before(until) {
		s := storms[random.IntN(len(storms))]
		pass(s.ctx, s.upTo(longestCalm))
		s.one(s.shared())
	}
	untilAllSwung(a, storms, &swinging)
	for _, s := range storms {
		s.end()
	}
	return turns.Load()
}

// untilAllSwung waits for those that are still moving, and tells what each waits for.
func untilAllSwung(a *attempt, storms []*storm, swinging *sync.WaitGroup) {
	a.Helper()
	done := make(chan struct{})
	go func() {
		swinging.Wait()
		close(done)
	}()
	tick := time.NewTicker(30 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			for _, s := range storms {
				if line := s.waitsFor(); line != "" {
					a.Log(line)
				}
			}
		}
	}
}

// waitsFor is a line about a Migration that is not at its end.
func (s *storm) waitsFor() string {
	m := &api.Migration{}
	if err := s.client.Get(s.ctx, client.ObjectKeyFromObject(s.m), m); err != nil {
		return fmt.Sprintf("%s: %v", s.m.Namespace, err)
	}
	if s.over(m) != "" {
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

// outlasting gives a move the time of the faults and afterwards as much as other tests
// have, and some more, for many share two processors.
func outlasting(lasts time.Duration) setting {
	return func(v *move) {
		ctx, cancel := context.WithTimeout(v.t.Context(), lasts+4*stage.limit())
		v.t.Cleanup(cancel)
		v.ctx = ctx
	}
}

// shared are the faults that leave the mode alone: it is turned by others.
func (s *storm) shared() []fault {
	return slices.DeleteFunc(s.faults(), func(f fault) bool { return f.name == aPause || f.name == aChange })
}

// swing turns the migration round when some ordinals have moved, and again when all of
// them are back, until its time is over; then it waits until all have moved.
func (s *storm) swing(random *rand.Rand, until time.Time, turns *atomic.Int32) error {
	for time.Now().Before(until) {
		some := 1 + random.Int32N(s.app.Replicas-1)
		if err := s.until(func(m *api.Migration) bool { return m.Status.Moved >= some || s.over(m) != "" }); err != nil {
			return fmt.Errorf("waiting until %d ordinals have moved: %w", some, err)
		}
		turns.Add(1)
		if err := s.setMode(api.ModeRollback); err != nil {
			return err
		}
		moved := false
		err := s.until(func(m *api.Migration) bool {
			moved = s.over(m) == api.ReasonMoved
			return s.over(m) != ""
		})
		if err != nil {
			return fmt.Errorf("waiting until all ordinals are back: %w", err)
		}
		if err := s.setMode(api.ModeRun); err != nil {
			return err
		}
		if moved {
			return nil
		}
	}
	return s.until(func(m *api.Migration) bool { return s.over(m) == api.ReasonMoved })
}

// over is the reason of the end of a Migration that is at its end in its present mode.
func (s *storm) over(m *api.Migration) string {
	completed := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted)
	if completed == nil || completed.Status != metav1.ConditionTrue || m.Status.ObservedGeneration != m.Generation {
		return ""
	}
	if completed.Reason == api.ReasonRolledBack && m.Spec.Mode == api.ModeRun {
		return "" // it begins anew
	}
	return completed.Reason
}

// until waits until the Migration is as it should be.
func (s *storm) until(condition func(*api.Migration) bool) error {
	const again = 100 * time.Millisecond
	m := &api.Migration{}
	err := wait.PollUntilContextCancel(s.ctx, again, true, func(ctx context.Context) (bool, error) {
		return s.client.Get(ctx, client.ObjectKeyFromObject(s.m), m) == nil && condition(m), nil
	})
	if err != nil {
		return fmt.Errorf("%w; status: %+v", err, m.Status)
	}
	return nil
}
