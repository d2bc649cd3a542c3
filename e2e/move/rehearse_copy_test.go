package move

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/report"
)

// playedIsolated lets players run pods in both clusters, and enforce NetworkPolicies.
func playedIsolated(v *harness.Move) {
	treetest.NeedRoot(v.T)
	harness.Player(v.T, v.From)
	harness.Player(v.T, v.To)
	harness.EnforcePolicies(v.T)
	v.Limit = 8 * time.Minute
}

// moversHere lists the pods of movers in the source's namespace.
func (v *move) moversHere() []corev1.Pod {
	v.T.Helper()
	pods, err := v.Source.CoreV1().Pods(v.App.Namespace).List(v.Ctx, metav1.ListOptions{LabelSelector: api.MigrationLabelKey})
	v.Must(err)
	return pods.Items
}

// slowCopy makes a pass over large data take minutes.
const slowCopy = ",bandwidth=256Ki"

// rehearseCopy returns the command that rehearses by copies, with further settings of these.
func (v *move) rehearseCopy(settings string, more ...string) *exec.Cmd {
	v.T.Helper()
	return v.rehearse(append([]string{"--method", "copy", "--volume", "data=copy,image=mover,devices=allow" + settings}, more...)...)
}

// TestRehearseCopies: where no snapshot can be taken, the running volumes are copied by the movers of method Copy, one
// after the other. The clones have the data of the source, which does not change, and no mover is left. The plan
// expects the start, and the report of the move that follows compares exactly that with what it had.
func TestRehearseCopies(t *testing.T) {
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, playedIsolated)
	data, before := v.filled(), v.sourceState()
	if text := v.exits(v.rehearse(), 3); !strings.Contains(text, "--method copy") {
		t.Errorf("the way without snapshots is not shown:\n%s", text)
	}
	text := v.exits(v.rehearseCopy("", "--keep"), 0)
	for _, want := range []string{"copied in", "the recovery was not", "2 pods, Ready all the time", "are kept in namespace"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	there := v.rehearsals()
	if len(there) != 1 {
		t.Fatalf("%d namespaces are kept", len(there))
	}
	kept := v.There()
	kept.Namespace = there[0].Name
	v.expectCopies(kept, data)
	pods, err := v.Destination.CoreV1().Pods(kept.Namespace).List(v.Ctx, metav1.ListOptions{LabelSelector: api.MigrationLabelKey})
	v.Must(err)
	if len(pods.Items) > 0 || len(v.moversHere()) > 0 {
		t.Errorf("%d movers are left there, and %d at the source", len(pods.Items), len(v.moversHere()))
	}
	v.exits(v.rehearse("--clean"), 0)
	v.expectUntouched(before)

	expected := v.expectedOutage(v.cli("plan", "-o", "json"))
	v.exits(v.cli("run"), 0)
	v.ExpectMoved()
	v.expectCompared(expected)
	v.Audit()
}

// expectedOutage returns how long a plan expects each ordinal to be down. The start must be rehearsed.
func (v *move) expectedOutage(plan *exec.Cmd) float64 {
	v.T.Helper()
	var document struct {
		Summary struct {
			Outage struct {
				Seconds   float64
				Rehearsed int
			}
		}
	}
	out, err := plan.Output()
	if err != nil {
		v.T.Fatalf("%v: %s%s", err, out, stderrOf(err))
	}
	v.Must(json.Unmarshal(out, &document))
	outage := document.Summary.Outage
	if outage.Rehearsed != int(v.App.Replicas) || outage.Seconds <= 0 {
		v.T.Errorf("the plan expects %+v", outage)
	}
	return outage.Seconds
}

// expectCompared checks that the report compares the move with what the plan has expected.
func (v *move) expectCompared(expected float64) {
	v.T.Helper()
	var r report.Report
	out, err := v.cli("report", "-o", "json").Output()
	v.Must(err)
	v.Must(json.Unmarshal(out, &r))
	c := r.Rehearsal
	if c == nil || c.DownSeconds == nil || c.DifferencePercent == nil || c.MovedStartSeconds == nil || *c.DownSeconds <= 0 {
		v.T.Fatalf("the report does not compare: %+v", c)
	}
	if c.ExpectedSeconds != expected {
		v.T.Errorf("the plan expected %v s, and the report says %v s", expected, c.ExpectedSeconds)
	}
	if want := math.Round((*c.DownSeconds - expected) / expected * 100); *c.DifferencePercent != want {
		v.T.Errorf("%v s instead of %v s are %v %%, not %v %%", *c.DownSeconds, expected, want, *c.DifferencePercent)
	}
	text := v.exits(v.cli("report"), 0)
	if !strings.Contains(text, c.Text) || !strings.Contains(c.Text, "the move had") {
		v.T.Errorf("the report does not say %q:\n%s", c.Text, text)
	}
	v.T.Logf("%s", c.Text)
}

// TestRehearseCopiesEnd: a rehearsal that is interrupted, killed or disturbed while it copies leaves no mover at the
// source and nothing at the destination, at once or after --clean.
func TestRehearseCopiesEnd(t *testing.T) {
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, playedIsolated)
	v.large()
	before := v.sourceState()
	reads := func(context.Context) (bool, error) { return len(v.moversHere()) > 0, nil }
	for _, tc := range []struct {
		name string
		do   func(*exec.Cmd)
		code int
	}{
		{"interrupted", func(cmd *exec.Cmd) { v.Must(cmd.Process.Signal(syscall.SIGINT)) }, 1},
		{"killed", func(cmd *exec.Cmd) { v.Must(cmd.Process.Kill()) }, -1},
		{"the claim is deleted", func(*exec.Cmd) {
			v.Must(v.Destination.CoreV1().PersistentVolumeClaims(v.rehearsals()[0].Name).Delete(v.Ctx, "data-web-0", metav1.DeleteOptions{}))
		}, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := v.rehearseCopy(slowCopy)
			v.Must(child.Start(cmd))
			v.Eventually("a mover reads", reads)
			tc.do(cmd)
			if code := codeOf(cmd.Wait()); code != tc.code {
				t.Errorf("it ended with %d, want %d", code, tc.code)
			}
			if tc.code < 0 {
				v.exits(v.rehearse("--clean"), 0)
			}
			if left := v.moversHere(); len(left) > 0 {
				t.Errorf("left: pod %s", left[0].Name)
			}
			v.expectUntouched(before)
		})
	}
}

// TestRehearseStopsForTheSource: the latency of the source is measured before and during a rehearsal. When it rises
// above the limit, the rehearsal ends, and leaves nothing.
func TestRehearseStopsForTheSource(t *testing.T) {
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, playedIsolated)
	v.large()
	before := v.sourceState()
	var slow atomic.Bool
	source := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if !slow.Load() {
			return
		}
		select {
		case <-time.After(300 * time.Millisecond): // the load of the source
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(source.Close)
	cmd := v.rehearseCopy(slowCopy, "--probe", source.URL, "--probe-before", "2s", "--latency-limit", "200ms")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	v.Must(child.Start(cmd))
	v.Eventually("a mover reads", func(context.Context) (bool, error) { return len(v.moversHere()) > 0, nil })
	slow.Store(true)
	code := codeOf(cmd.Wait())
	if code != 3 || len(v.moversHere()) > 0 {
		t.Errorf("it ended with %d, and %d movers are left", code, len(v.moversHere()))
	}
	for _, want := range []string{rehearsal.ReasonSourceSlow, "before    of the source's clients, 0 of", "during    of the source's clients, 0 of", "; p50 ", ", p99 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	v.expectUntouched(before)
}
