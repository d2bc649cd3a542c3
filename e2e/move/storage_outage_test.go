package move

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestStorageOutage: between the eviction of a pod and its Ready successor on the new volume, no pod is created for the
// copy, and nothing is deleted but the sender that names the ordinal's claim. Where an attachment shows that the old volume
// is in use, its sender follows the detachment. The outages are printed beside those of a restart.
func TestStorageOutage(t *testing.T) {
	t.Parallel()
	start := []string{"Point", "FreeClaim"}
	for name, tc := range map[string]struct {
		attach bool
		fill   []string
	}{
		"mounted only": {false, []string{"EvictPod", "Release", "TellMover receiver", "DeleteMover sender"}},
		"attached":     {true, []string{"EvictPod", "Release", "CreateOutgoing", "CreateMover sender", "TellMover receiver", "TellMover sender"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := disksOfOne(t, tc.attach).inPlace(t, 2)
			data := v.fill()
			restarted := v.restarts(t)
			watched, writes := v.watchOutages(t), map[int32][]string{}
			v.Run(downWrites(writes))
			v.expectContent(data)
			changed := watched.longest(v.move)
			for ordinal, got := range writes {
				if want := slices.Concat(tc.fill, start); !slices.Equal(got, want) {
					t.Errorf("ordinal %d is down for\n%s, want\n%s", ordinal, got, want)
				}
				pod := fmt.Sprintf("%s-%d", v.App.Name, ordinal)
				t.Logf("%s: down for %.2f s, in a restart for %.2f s", pod, changed[pod].Seconds(), restarted[pod].Seconds())
			}
			if len(writes) != int(v.App.Replicas) {
				t.Errorf("%d ordinals were down", len(writes))
			}
		})
	}
}

// restarts deletes each pod once, and returns how long each was down.
func (v *storage) restarts(t *testing.T) map[string]time.Duration {
	t.Helper()
	const often = 20 * time.Millisecond
	watched, pods := v.watchOutages(t), v.Source.CoreV1().Pods(v.App.Namespace)
	for ordinal := range v.App.Replicas {
		name := fmt.Sprintf("%s-%d", v.App.Name, ordinal)
		before, err := pods.Get(v.Ctx, name, metav1.GetOptions{})
		v.Must(err)
		v.Must(pods.Delete(v.Ctx, name, metav1.DeleteOptions{}))
		v.Must(wait.PollUntilContextCancel(v.Ctx, often, true, func(ctx context.Context) (bool, error) {
			pod, err := pods.Get(ctx, name, metav1.GetOptions{})
			return err == nil && pod.UID != before.UID && serves(pod), nil
		}))
	}
	return maps.Clone(watched.longest(v.move))
}

// downWrites collects the writes from the eviction of each ordinal until its claim is free. The controller of the set may
// create the next one.
func downWrites(writes map[int32][]string) harness.Report {
	down := false
	return func(_ *api.Migration, outcome engine.Outcome) error {
		effect := outcome.Decision.Effect
		if !outcome.Wrote || !down && effect.Verb != plan.EvictPod {
			return nil
		}
		verb := string(effect.Verb)
		if effect.Carries() {
			verb = string(effect.Volume.Verb)
		}
		if role := effect.Volume.Copy.Role; role != "" {
			verb += " " + string(role)
		}
		writes[effect.Ordinal] = append(writes[effect.Ordinal], verb)
		down = effect.Verb != plan.FreeClaim
		return nil
	}
}
