package engine

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestSilences: clusters that do not answer are asked at growing intervals, by one Migration at a time. While
// an ordinal is down the interval is bounded. Clusters that answer are asked at once (S4).
func TestSilences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := newSilences(), time.Unix(1000, 0)
		times := rapid.IntRange(1, 100).Draw(t, "times")
		for range times {
			s.unanswered("west", "no answer", now, now)
		}
		want := silenceMost
		if times <= 6 {
			want = silenceFirst << (times - 1)
		}
		down := rapid.Bool().Draw(t, "down")
		if down {
			want = min(want, silenceDown)
		}
		var waited time.Duration
		for {
			wait, why := s.ask("west", down, now)
			if wait == 0 {
				break
			}
			if wait > silenceLook || why != "no answer" {
				t.Fatalf("wait %s for %q", wait, why)
			}
			waited, now = waited+wait, now.Add(wait)
		}
		if waited != want {
			t.Fatalf("waited %s, want %s", waited, want)
		}
		if wait, _ := s.ask("west", true, now); wait == 0 {
			t.Fatal("two ask at the same time")
		}
		if wait, _ := s.ask("other credentials", false, now); wait > 0 {
			t.Fatalf("others wait %s", wait)
		}
		s.answered("west")
		if wait, _ := s.ask("west", false, now); wait > 0 || len(s.of) > 0 {
			t.Fatalf("it answers, and is left alone for %s", wait)
		}
	})
}

// TestSilencesTogether: requests that were sent at the same time count as one failure (S4).
func TestSilencesTogether(t *testing.T) {
	s, began := newSilences(), time.Unix(1000, 0)
	for i := range 5 {
		s.unanswered("west", "", began, began.Add(10*time.Second+time.Duration(i)))
	}
	if pause := s.of["west"].pause(); pause != silenceFirst {
		t.Errorf("left alone for %s", pause)
	}
	s.unanswered("east", "", began, began.Add(silenceForgotten+time.Minute))
	if s.of["west"] != nil {
		t.Error("nobody asks any more, and it is remembered")
	}
}

// TestToldOfSilence: a Migration whose clusters have answered is not held by another one's failures until they
// fail to answer it too (S4).
func TestToldOfSilence(t *testing.T) {
	r := &Reconciler{silences: newSilences()}
	d := func() *driven { return &driven{source: link{key: "local"}, destination: link{key: "west"}} }
	answered, silent, fresh := d(), d(), d()
	m, none := &api.Migration{}, *plan.Stalled(api.ReasonClusterUnreachable, "no answer", "")
	r.told(answered, plan.Decision{}, time.Now())
	r.told(silent, none, time.Now())
	if wait, _ := r.ask(answered, m); wait > 0 {
		t.Errorf("who was answered waits %s", wait)
	}
	if wait, why := r.ask(fresh, m); wait == 0 || why != "no answer" {
		t.Errorf("a new one waits %s: %s", wait, why)
	}
	r.told(answered, plan.Decision{}, time.Now())
	if wait, _ := r.ask(silent, m); wait == 0 {
		t.Error("another one was answered, and that counts for all")
	}
	r.told(answered, none, time.Now())
	if wait, _ := r.ask(answered, m); wait == 0 {
		t.Error("it is not answered any more, and does not wait")
	}
	r.told(fresh, plan.Decision{}, time.Now())
	if wait, _ := r.ask(silent, m); wait > 0 {
		t.Errorf("they answer again, and it waits %s", wait)
	}
	other := d()
	r.told(other, none, time.Now())
	other.destination.key = "west with another Secret"
	if wait, _ := r.ask(other, m); wait > 0 {
		t.Errorf("with other credentials it waits %s", wait)
	}
}

// TestUrgency: a Migration with a current handoff has the highest priority, and one that has begun precedes
// those that have not (S4).
func TestUrgency(t *testing.T) {
	for want, status := range []api.MigrationStatus{
		urgencyNone: {}, urgencyBegun: {Baseline: &api.Baseline{}}, urgencyDown: {Baseline: &api.Baseline{}, Handoff: &api.Handoff{}},
	} {
		if got := urgency(&api.Migration{Status: status}); got != want {
			t.Errorf("%+v: %d, want %d", status, got, want)
		}
	}
}

// TestSilenceIsBounded: a pause doubles from a second up to a minute, and never lasts longer (S4).
func TestSilenceIsBounded(t *testing.T) {
	for times, seconds := range map[int]int{1: 1, 2: 2, 3: 4, 4: 8, 5: 16, 6: 32, 7: 60, 8: 60, 100: 60, 1 << 40: 60} {
		if got := (&silence{times: times}).pause(); got != time.Duration(seconds)*time.Second {
			t.Errorf("after %d times: %s", times, got)
		}
	}
}

// TestSilenceWhileAsked: while one Migration asks, the others return after a second, or after the pause if that
// is later (S4).
func TestSilenceWhileAsked(t *testing.T) {
	s, now := newSilences(), time.Unix(1000, 0)
	s.unanswered("west", "no answer", now, now)
	s.unanswered("west", "no answer", now, now)
	now = now.Add(2 * time.Second)
	if wait, _ := s.ask("west", false, now); wait != 0 {
		t.Fatalf("the first one waits %s", wait)
	}
	if wait, why := s.ask("west", false, now); wait != silenceFirst || why != "no answer" {
		t.Errorf("the others wait %s: %s", wait, why)
	}
	s.of["west"].since = now
	if wait, _ := s.ask("west", false, now); wait != 2*silenceFirst {
		t.Errorf("they wait %s", wait)
	}
}

// TestSilenceIsForgotten: an entry that was not used for a long time is dropped, but not one that is in use.
func TestSilenceIsForgotten(t *testing.T) {
	now := time.Unix(10000, 0)
	for name, tc := range map[string]struct {
		ago    time.Duration
		asking bool
		kept   bool
	}{
		"just now":              {0, false, true},
		"just not too long ago": {silenceForgotten, false, true},
		"too long ago":          {silenceForgotten + 1, false, false},
		"it is being asked for": {silenceForgotten + 1, true, true},
		"and was just now":      {0, true, true},
	} {
		s := newSilences()
		s.of["west"] = &silence{since: now.Add(-tc.ago), asking: tc.asking}
		s.unanswered("east", "", now, now)
		if kept := s.of["west"] != nil; kept != tc.kept {
			t.Errorf("%s: kept %t", name, kept)
		}
	}
}
