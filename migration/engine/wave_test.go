package engine

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/queue"
)

func ofWave(n int32) func(*api.Migration) {
	return func(m *api.Migration) { m.Spec.Wave = n }
}

// endedWith completes a Migration with a reason.
func endedWith(reason string) func(*api.Migration) {
	return func(m *api.Migration) {
		hasBegun(m)
		if reason == api.ReasonRolledBack {
			m.Spec.Mode = api.ModeRollback
		}
		condition(m, api.ConditionCompleted, metav1.ConditionTrue, reason, "it is done")
	}
}

// TestWaveHold: a Migration waits for those of earlier waves until they have moved, and for no others.
func TestWaveHold(t *testing.T) {
	for name, tc := range map[string]struct {
		m     *api.Migration
		other *api.Migration
		waits bool
	}{
		"an earlier one":                  {west("m", 1, ofWave(2)), west("o", 9, ofWave(1)), true},
		"one of wave 0":                   {west("m", 1, ofWave(1)), west("o", 9), true},
		"one of its own wave":             {west("m", 1, ofWave(1)), west("o", 9, ofWave(1)), false},
		"a later one":                     {west("m", 1, ofWave(1)), west("o", 9, ofWave(2)), false},
		"itself of no wave":               {west("m", 1), west("o", 9), false},
		"one that has moved":              {west("m", 1, ofWave(1)), west("o", 9, endedWith(api.ReasonMoved)), false},
		"one that has begun":              {west("m", 1, ofWave(1)), west("o", 9, hasBegun), true},
		"one that is stalled":             {west("m", 1, ofWave(1)), west("o", 9, hasBegun, isStalled), true},
		"one that was rolled back":        {west("m", 1, ofWave(1)), west("o", 9, endedWith(api.ReasonRolledBack)), true},
		"one that has moved, and changed": {west("m", 1, ofWave(1)), west("o", 9, endedWith(api.ReasonMoved), func(m *api.Migration) { m.Generation++ }), true},
		"it has begun":                    {west("m", 1, ofWave(1), hasBegun), west("o", 9), false},
		"it is paused":                    {west("m", 1, ofWave(1), func(m *api.Migration) { m.Spec.Mode = api.ModePause }), west("o", 9), false},
	} {
		t.Run(name, func(t *testing.T) {
			hold := waveHold(tc.m, []api.Migration{*tc.m, *tc.other})
			if (hold != nil) != tc.waits {
				t.Errorf("%+v", hold)
			}
		})
	}
}

// TestWaveNames: of many Migrations only some are named.
func TestWaveNames(t *testing.T) {
	m := west("m", 1, ofWave(3))
	all := []api.Migration{*m}
	for _, name := range []string{"g", "f", "e", "d", "c", "b", "a"} {
		all = append(all, *west(name, 1))
	}
	const want = "waiting for the waves before 3: not moved yet in namespace shop: a, b, c, d, e and 2 more"
	hold := waveHold(m, all)
	if hold.Message != want || !strings.Contains(hold.Remedy, ": in cluster local: kubectl patch migration -n shop m ") {
		t.Errorf("%q, want %q; %s", hold.Message, want, hold.Remedy)
	}
}

// TestWave: a Migration of a later wave takes no place in line and sends no request to a cluster. It is called
// when the last one before it has moved or was deleted.
func TestWave(t *testing.T) {
	for name, end := range map[string]func(*desk){
		"moved": func(d *desk) {
			first := d.get("first")
			endedWith(api.ReasonMoved)(first)
			d.must(d.Client.Status().Update(d.t.Context(), first))
		},
		"deleted": func(d *desk) { d.must(d.Client.Delete(d.t.Context(), d.get("first"))) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, west("first", 2, hasBegun), west("second", 1, ofWave(1)), west("third", 1, ofWave(2)))
			for _, later := range []string{"second", "third"} {
				if after := d.reconcile(later).RequeueAfter; after != queue.Pause {
					t.Errorf("%s is looked at again after %s", later, after)
				}
			}
			if got := d.says("second"); !strings.HasPrefix(got, "Queued: waiting for the waves before 1: not moved yet in namespace shop: first") {
				t.Errorf("it says %q", got)
			}
			if d.secrets > 1 || len(d.engines) > 0 || d.inLine("second") || d.inLine("third") { // the Secret of the first
				t.Errorf("%d Secrets are read, %d are connected, or one of them is in line", d.secrets, len(d.engines))
			}
			d.expectCalled()
			end(d)
			d.reconcile("first")
			d.expectCalled("second")
		})
	}
}
