package preflight

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestRegister: a check that has no function, or a taken name, is not registered; a valid check adds its rights.
func TestRegister(t *testing.T) {
	before := checks
	t.Cleanup(func() { checks = before })
	none := func(context.Context, *Inspector, Subject) ([]plan.Finding, error) { return nil, nil }
	for name, check := range map[string]Check{"no name": {Run: none}, "nothing to do": {Name: "idle"}, "a taken name": {Name: "owner", Run: none}} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil || len(checks) != len(before) {
					t.Error("it is registered")
				}
			}()
			Register(check)
		})
	}
	t.Run("its rights", func(t *testing.T) {
		rule := Rule{Resource: "configmaps", Verbs: "list"}
		Register(Check{Name: "calendar", Rules: []Rule{rule}, Run: none})
		if !slices.Contains(rights(&api.Migration{}, endpoint.Endpoint{}), rule) {
			t.Error("its right is not asked for")
		}
	})
}

// TestChecksAtOnce: checks run concurrently and share their reads. Their findings are in the order of the registry,
// and the first error is returned.
func TestChecksAtOnce(t *testing.T) {
	was := checks
	t.Cleanup(func() { checks = was })
	second, reads := make(chan struct{}), 0
	look := func(e *Inspector) ([]plan.Finding, error) {
		nodes, err := e.reads().nodes.of(func() ([]corev1.Node, error) {
			reads++
			return make([]corev1.Node, 3), nil
		})
		return []plan.Finding{{Message: strconv.Itoa(len(nodes))}}, err
	}
	failing := error(nil)
	checks = []Check{
		{Name: "first", Run: func(ctx context.Context, e *Inspector, _ Subject) ([]plan.Finding, error) {
			select {
			case <-second:
				return look(e)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}},
		{Name: "second", Run: func(_ context.Context, e *Inspector, _ Subject) ([]plan.Finding, error) {
			close(second)
			return look(e)
		}},
		{Name: "third", Run: func(context.Context, *Inspector, Subject) ([]plan.Finding, error) { return nil, failing }},
	}
	run := func() ([]plan.Finding, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return (&Inspector{shared: &shared{}}).runAll(ctx, Subject{})
	}
	found, err := run()
	if want := []plan.Finding{{Check: "first", Message: "3"}, {Check: "second", Message: "3"}}; err != nil || !cmp.Equal(found, want) || reads != 1 {
		t.Errorf("got %v, %v after %d reads", found, err, reads)
	}
	failing, second = errors.New("no answer"), make(chan struct{})
	if found, err := run(); !errors.Is(err, failing) || found != nil {
		t.Errorf("got %v, %v", found, err)
	}
}

// TestOneErrorOfTheChecks: when several checks fail, the error is that of the first, and not a list of equal ones.
func TestOneErrorOfTheChecks(t *testing.T) {
	was := checks
	t.Cleanup(func() { checks = was })
	fail := func(err error) func(context.Context, *Inspector, Subject) ([]plan.Finding, error) {
		return func(context.Context, *Inspector, Subject) ([]plan.Finding, error) { return nil, err }
	}
	first := errors.New("no answer")
	checks = []Check{{Name: "good", Run: fail(nil)}, {Name: "first", Run: fail(first)}, {Name: "second", Run: fail(errors.New("no answer either"))}}
	found, err := (&Inspector{shared: &shared{}}).runAll(t.Context(), Subject{})
	if found != nil || !errors.Is(err, first) || err.Error() != first.Error() {
		t.Errorf("got %v, %v", found, err)
	}
}
