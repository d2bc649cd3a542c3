package suite

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestReasonDelay measures how long an annotation of a pod takes to appear in a file of its
// downward API volume: what terminationReasonGraceSeconds must at least be.
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
	results.add(result{name: t.Name(), remark: fmt.Sprintf(
		"annotation to file, %d samples: median %.1f s, max %.1f s", len(delays), median.Seconds(), longest.Seconds())})
	t.Log(delays)
}

// reasonDelay annotates a pod and waits for the file.
func (v *move) reasonDelay(pod, reason string) time.Duration {
	v.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, reasonAnnotation, reason)
	begin := time.Now()
	_, err := pair.East.Client.CoreV1().Pods(v.app.namespace).Patch(v.ctx, pod, types.MergePatchType, patch, metav1.PatchOptions{})
	v.must(err)
	v.must(pollUntil(v.ctx, func(ctx context.Context) (bool, error) {
		have, err := v.ask(ctx, pair.East, pod, "reason")
		return have == reason, err
	}))
	return time.Since(begin)
}
