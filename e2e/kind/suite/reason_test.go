package suite

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/kind/cases"
	"github.com/sliceshift/sliceshift/e2e/kind/journal"
	"github.com/sliceshift/sliceshift/e2e/kind/replica"
)

// TestReasonDelay measures how long an annotation of a pod takes to appear in a file of its downward API volume. That
// is the lower bound for terminationReasonGraceSeconds.
func TestReasonDelay(t *testing.T) {
	t.Parallel()
	const rounds = 4
	v := deploy(t, usual())
	var delays []time.Duration
	for round := range rounds {
		for _, pod := range v.app.pods() {
			delays = append(delays, v.reasonDelay(pod, fmt.Sprintf("round-%d", round)))
		}
	}
	slices.Sort(delays)
	median, longest := delays[len(delays)/2], delays[len(delays)-1]
	results.Add(cases.Row{Name: t.Name(), Remark: fmt.Sprintf(
		"annotation to file, %d samples: median %.1f s, max %.1f s", len(delays), median.Seconds(), longest.Seconds())})
	t.Log(delays)
}

// TestReason scales down a set of our own kind. The preStop hook of the deleted pod can read the reason if the pod is
// kept for some seconds after the reason was written.
func TestReason(t *testing.T) {
	for name, grace := range map[string]int32{"kept for 5 s": 5, "not kept": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := usual()
			a.ours, a.drain, a.reasonGrace = true, "500ms", grace
			u := deployedSlice(t, a)
			u.scale(2)
			u.scale(3)
			notes := u.journals(pair.East)[2].Runs[0].Notes
			if want := journal.DrainFor(string(sliceapi.TerminationScaleDown)); grace > 0 && !slices.Contains(notes, want) {
				t.Errorf("the hook did not read the reason: %v, want %s", notes, want)
			}
			results.Add(cases.Row{Name: t.Name(), Remark: fmt.Sprintf("what the preStop hook noted: %v", notes)})
		})
	}
}

// scale changes the replicas and waits until it is done.
func (u *updating) scale(replicas int32) {
	u.t.Helper()
	set := &sliceapi.StatefulSet{}
	u.must(u.client.Get(u.ctx, u.key, set))
	before := set.DeepCopy()
	set.Spec.Replicas = &replicas
	u.must(u.client.Patch(u.ctx, set, client.MergeFrom(before)))
	u.must(pollUntil(u.ctx, func(ctx context.Context) (bool, error) {
		err := u.client.Get(ctx, u.key, set)
		return set.Status.ObservedGeneration >= set.Generation && set.Status.Replicas == replicas && set.Status.AvailableReplicas == replicas, err
	}))
}

// reasonDelay annotates a pod and waits for the file.
func (v *move) reasonDelay(pod, reason string) time.Duration {
	v.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, reasonAnnotation, reason)
	begin := time.Now()
	_, err := pair.East.Client.CoreV1().Pods(v.app.namespace).Patch(v.ctx, pod, types.MergePatchType, patch, metav1.PatchOptions{})
	v.must(err)
	v.must(pollUntil(v.ctx, func(ctx context.Context) (bool, error) {
		have, err := replica.Page(ctx, pair.East.Client, v.pod(pod), "reason", nil)
		return have == reason, err
	}))
	return time.Since(begin)
}
