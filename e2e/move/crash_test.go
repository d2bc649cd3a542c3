package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/testbed"
	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// crashStepVariable says that each so many writes are tried; 1: every one.
const (
	crashStepVariable = "SLICESHIFT_CRASH_STEP"
	defaultCrashStep  = 24
)

// fate is what becomes of a process at one of its writes.
type fate string

const (
	diesBefore fate = "dies before"
	diesAfter  fate = "dies after"
	noAnswer   fate = "has no answer to"
)

// TestCrashMatrix lets a process die before each of its writes, after it, or lose the
// answer to it; another one, or the same, goes on. The end is the same as without.
func TestCrashMatrix(t *testing.T) {
	step := harness.FromEnvironment(t, crashStepVariable, defaultCrashStep)
	began, total := time.Now(), testbed.NewTally()
	var tried, plays atomic.Int64
	t.Cleanup(func() {
		total.Bury(harness.Deaths(began))
		t.Log(total.TestbedSentence())
		harness.WriteFigures(t, "crash-matrix", fmt.Sprintf("%d processes of %d kinds of moves met their fate at one of their writes; each move ended as the same one without. %s", tried.Load(), plays.Load(), total.TestbedSentence()))
	})
	for name, play := range map[string]struct {
		where harness.Setting
		more  harness.Setting
	}{
		"clusters":   {harness.AcrossClusters, harness.WithSpec(func(s *api.MigrationSpec) { s.Cleanup.Source = api.CleanupDelete })},
		"namespaces": {harness.AcrossNamespaces, harness.WithSpec(lowestFirst)},
		"names":      {harness.AcrossNames, harness.WithSpec(func(*api.MigrationSpec) {})},
		"named":      {harness.AcrossClusters, harness.WithSpec(named)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var writes int
			var want string
			harness.Repeat(t, total, func(a *testbed.Attempt) {
				calm := newMove(a, harness.Usual(2), play.where, play.more)
				calm.servingExports()
				writes, _ = calm.crash(noAnswer, 0)
				want = calm.left()
				calm.Audit()
			})
			if t.Failed() {
				return
			}
			t.Logf("%d writes", writes)
			plays.Add(1)
			for offset, f := range []fate{diesBefore, diesAfter, noAnswer} {
				for n := 1 + offset*step/3; n <= writes; n += step {
					t.Run(fmt.Sprintf("%s write %d", f, n), func(t *testing.T) {
						t.Parallel()
						crashed := false
						harness.Repeat(t, total, func(a *testbed.Attempt) {
							v := newMove(a, harness.Usual(2), play.where, play.more)
							v.servingExports()
							_, crashed = v.crash(f, n)
							if !crashed && n < writes-fewer {
								a.Errorf("it made no write %d", n)
							}
							if have := v.left(); have != want {
								a.Errorf("it ends as\n%s\nand not as\n%s", have, want)
							}
							v.Audit()
						})
						if crashed {
							tried.Add(1)
						}
					})
				}
			}
		})
	}
}

// fewer is how many writes a run may have less than another one: whether a wait is worth
// a write of the status is a matter of time.
const fewer = 8

// crash moves the application while one write meets its fate; 0: none. It returns how
// many writes there were, and whether that one was among them.
func (v *move) crash(f fate, n int) (writes int, crashed bool) {
	v.T.Helper()
	ctx, die := context.WithCancel(v.Ctx)
	defer die()
	c := &crasher{fate: f, at: int64(n), die: die}
	_, err := fixture.NewMover(v.Ctx, v.From.RESTConfig(), v.To.RESTConfig(), v.Migration)
	v.Must(err)
	mover, err := fixture.Rejoin(c.through(v.From.RESTConfig()), c.through(v.To.RESTConfig()), v.Migration)
	v.Must(err)
	if err := mover.Run(ctx, func(*api.Migration, migration.Outcome) error { return nil }); err != nil && !c.dead.Load() {
		v.T.Fatalf("the run ended with: %v", err)
	}
	if c.dead.Load() {
		again, err := fixture.Rejoin(v.From.RESTConfig(), v.To.RESTConfig(), v.Migration)
		v.Must(err)
		v.Drive(again)
	}
	return int(c.count.Load()), n > 0 && c.count.Load() >= int64(n)
}

// crasher stands between a process and its API servers.
type crasher struct {
	fate  fate
	at    int64
	die   context.CancelFunc
	count atomic.Int64
	dead  atomic.Bool
}

var errCrashed = errors.New("the process has crashed")

// through is a config whose requests pass the crasher.
func (c *crasher) through(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) { return c.pass(next, r) })
	})
	return config
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (do roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return do(r) }

func (c *crasher) pass(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if c.dead.Load() {
		return nil, errCrashed
	}
	if !changes(r) || c.count.Add(1) != c.at {
		return next.RoundTrip(r)
	}
	if c.fate == diesBefore {
		return nil, c.crash()
	}
	response, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	if c.fate == diesAfter {
		return nil, c.crash()
	}
	return nil, io.ErrUnexpectedEOF
}

func (c *crasher) crash() error {
	c.dead.Store(true)
	c.die()
	return errCrashed
}

// changes says whether a request changes anything: a question about rights does not,
// nor does a rehearsal.
func changes(r *http.Request) bool {
	return r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/authorization.k8s.io/") && r.URL.Query().Get("dryRun") == ""
}

// left is all that a migration leaves, less what differs from run to run.
func (v *move) left() string {
	v.T.Helper()
	var lines []string
	for _, at := range []struct {
		name string
		harness.Endpoint
	}{{"source", v.Here()}, {"destination", v.There()}} {
		lines = append(lines, v.leftOfSet(at.name, at.Endpoint)...)
		lines = append(lines, v.leftOfVolumes(at.name, at.Endpoint)...)
		budgets, err := at.Client.PolicyV1().PodDisruptionBudgets(at.Namespace).List(v.Ctx, metav1.ListOptions{})
		v.Must(err)
		for _, budget := range budgets.Items {
			lines = append(lines, fmt.Sprintf("%s: budget %s %v %v", at.name, budget.Name, budget.Spec.MaxUnavailable, annotationKeys(budget.Annotations)))
		}
		services, err := at.Client.CoreV1().Services(at.Namespace).List(v.Ctx, metav1.ListOptions{})
		v.Must(err)
		for _, service := range services.Items {
			lines = append(lines, fmt.Sprintf("%s: service %s %v", at.name, service.Name, annotationKeys(service.Annotations)))
		}
	}
	slices.Sort(lines)
	return strings.NewReplacer(v.App.Namespace, "NAMESPACE").Replace(strings.Join(slices.Compact(lines), "\n"))
}

func (v *move) leftOfSet(side string, at harness.Endpoint) []string {
	v.T.Helper()
	set, err := at.Client.AppsV1().StatefulSets(at.Namespace).Get(v.Ctx, at.Set, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	v.Must(err)
	lines := []string{fmt.Sprintf("%s: set %s of %d, %d Ready, %v", side, set.Name, *set.Spec.Replicas, set.Status.ReadyReplicas, annotationKeys(set.Annotations))}
	if *set.Spec.Replicas > 0 && set.Spec.Ordinals != nil {
		lines = append(lines, fmt.Sprintf("%s: set %s from %d", side, set.Name, set.Spec.Ordinals.Start))
	}
	return lines
}

func (v *move) leftOfVolumes(side string, at harness.Endpoint) []string {
	v.T.Helper()
	claims, err := at.Client.CoreV1().PersistentVolumeClaims(at.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	volumes, err := at.Client.CoreV1().PersistentVolumes().List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	byName := map[string]corev1.PersistentVolume{}
	var lines []string
	for _, volume := range volumes.Items {
		ref := volume.Spec.ClaimRef
		if ref == nil || ref.Namespace != at.Namespace {
			continue
		}
		byName[volume.Name] = volume
		lines = append(lines, fmt.Sprintf("%s: a volume of claim %s %s %v", side, ref.Name, volume.Spec.PersistentVolumeReclaimPolicy, annotationKeys(volume.Annotations)))
	}
	for _, claim := range claims.Items {
		bound := byName[claim.Spec.VolumeName]
		mine := bound.Spec.ClaimRef != nil && bound.Spec.ClaimRef.UID == claim.UID
		line := fmt.Sprintf("%s: claim %s without its volume", side, claim.Name) // the binder says Lost when it looks again
		if mine {
			line = fmt.Sprintf("%s: claim %s %s", side, claim.Name, claim.Status.Phase)
		}
		lines = append(lines, line)
	}
	return lines
}

func annotationKeys(annotations map[string]string) []string {
	var keys []string
	for key := range annotations {
		if strings.Contains(key, "sliceshift.io/") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
