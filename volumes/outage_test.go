package volumes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// went returns an ended handoff that began to be down at a second, with the seconds of its five parts.
func went(direction api.Direction, at int, parts ...int) api.PastHandoff {
	var lasted [5]metav1.Duration
	down := time.Unix(int64(at), 0)
	ready := down
	for i, n := range parts {
		lasted[i].Duration = time.Duration(n) * time.Second
		ready = ready.Add(lasted[i].Duration)
	}
	return api.PastHandoff{
		Direction: direction, StopTime: metav1.NewMicroTime(down), ReadyTime: metav1.NewMicroTime(ready),
		Outage: api.OutageParts{Stop: lasted[0], Detach: lasted[1], Carry: lasted[2], Copy: lasted[3], Start: lasted[4]},
	}
}

// TestV4OutageIsMeasured: the parts of the next outage are the medians of the outages of this migration in the same
// direction, without those in which it was stopped. Before the first they are assumed.
func TestV4OutageIsMeasured(t *testing.T) {
	const s = time.Second
	one, two, three := went(api.Forward, 100, 1, 2, 3, 4, 5), went(api.Forward, 200, 3, 2, 1, 6, 9), went(api.Forward, 300, 7, 9, 2, 5, 6)
	stopped := func(from, to int64) api.PastStop {
		return api.PastStop{StartTime: metav1.NewTime(time.Unix(from, 0)), EndTime: metav1.NewTime(time.Unix(to, 0))}
	}
	for name, tc := range map[string]struct {
		history *api.History
		want    Outage
		text    string
	}{
		"nothing recorded": {nil, Outage{}, "stop 2s, detach 2s, carry 2s, start 4s, assumed"},
		"not known":        {&api.History{Handoffs: []api.PastHandoff{{Direction: api.Forward}}}, Outage{}, "stop 2s, detach 2s, carry 2s, start 4s, assumed"},
		"of the other way": {&api.History{Handoffs: []api.PastHandoff{went(api.Back, 100, 1, 2, 3, 4, 5)}}, Outage{}, "stop 2s, detach 2s, carry 2s, start 4s, assumed"},
		"one":              {&api.History{Handoffs: []api.PastHandoff{one}}, Outage{s, 2 * s, 3 * s, 4 * s, 5 * s, 1, 0}, "stop 1s, detach 2s, carry 3s, copy 4s, start 5s, measured once"},
		"two": {
			&api.History{Handoffs: []api.PastHandoff{one, two}},
			Outage{2 * s, 2 * s, 2 * s, 5 * s, 7 * s, 2, 0},
			"stop 2s, detach 2s, carry 2s, copy 5s, start 7s, median of 2",
		},
		"three": {
			&api.History{Handoffs: []api.PastHandoff{one, two, three}},
			Outage{3 * s, 2 * s, 2 * s, 5 * s, 6 * s, 3, 0},
			"stop 3s, detach 2s, carry 2s, copy 5s, start 6s, median of 3",
		},
		"stopped in one of them": {&api.History{Handoffs: []api.PastHandoff{one, two}, Stops: []api.PastStop{stopped(210, 215)}}, Outage{s, 2 * s, 3 * s, 4 * s, 5 * s, 1, 0}, "stop 1s, detach 2s, carry 3s, copy 4s, start 5s, measured once"},
		"stopped between them":   {&api.History{Handoffs: []api.PastHandoff{one, two}, Stops: []api.PastStop{stopped(115, 200)}}, Outage{2 * s, 2 * s, 2 * s, 5 * s, 7 * s, 2, 0}, "stop 2s, detach 2s, carry 2s, copy 5s, start 7s, median of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			got := OutageOf(tc.history, api.Forward)
			if diff := cmp.Diff(tc.want, got); diff != "" || got.String() != tc.text {
				t.Errorf("%s, -want +got:\n%s", got, diff)
			}
		})
	}
}

// TestOutageLasts: the sum of the parts is the outage, with and without the last pass of a copy. Tenths count below
// ten seconds.
func TestOutageLasts(t *testing.T) {
	if got := (Outage{}).Lasts(); got != 10*time.Second || (Outage{}).WithoutCopy().Lasts() != got {
		t.Errorf("assumed: %s", got)
	}
	o := Outage{Stop: 320 * time.Millisecond, Detach: 12340 * time.Millisecond, Copy: 1500 * time.Millisecond, Start: time.Second, Measured: 2}
	if o.Lasts() != 15160*time.Millisecond || o.WithoutCopy().Lasts() != 13660*time.Millisecond {
		t.Errorf("%s and %s", o.Lasts(), o.WithoutCopy().Lasts())
	}
	if got, want := o.String(), "stop 300ms, detach 12s, carry 0s, copy 1.5s, start 1s, median of 2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestOutageIsBetween: each part is between the shortest and the longest that was measured.
func TestOutageIsBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lasted := rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 9).Draw(t, "start")
		history, least, most := &api.History{}, lasted[0], lasted[0]
		for i, start := range lasted {
			history.Handoffs = append(history.Handoffs, went(api.Forward, 2000*i, 1, 1, 1, 0, start))
			least, most = min(least, start), max(most, start)
		}
		got := OutageOf(history, api.Forward)
		if got.Start < time.Duration(least)*time.Second || got.Start > time.Duration(most)*time.Second || got.Measured != len(lasted) {
			t.Fatalf("%+v of %v", got, lasted)
		}
	})
}

// TestRehearsedOutage: before a handoff was measured, the start of a rehearsal replaces the assumed one. A measurement
// replaces both.
func TestRehearsedOutage(t *testing.T) {
	const s = time.Second
	rehearsed := Outage{Start: 12 * s, Rehearsed: 3}
	if got, want := rehearsed.String(), "stop 2s, detach 2s, carry 2s, start 12s, start rehearsed with 3 pods, the rest assumed"; got != want || rehearsed.Lasts() != 18*s {
		t.Errorf("%s, in all %s", got, rehearsed.Lasts())
	}
	restored := rehearsed
	restored.Carry = 5 * s
	if got, want := restored.String(), "stop 2s, detach 2s, carry 7s, start 12s, carry and start rehearsed with 3 pods, the rest assumed"; got != want || restored.Lasts() != 23*s {
		t.Errorf("%s, in all %s", got, restored.Lasts())
	}
	rehearsed.Measured = 1
	if got := rehearsed.String(); got != "stop 0s, detach 0s, carry 0s, start 12s, measured once" {
		t.Error(got)
	}
}
