package probe

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

func handoff(ordinal int32, second int64) *api.Handoff {
	return &api.Handoff{Ordinal: ordinal, StartTime: metav1.NewMicroTime(time.Unix(second, 1234))}
}

// TestTally: each request counts for the handoff in which it was sent, whenever it ends. Every sent request has
// ended or is unanswered.
func TestTally(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		tally, sent, failed := NewTally(api.MigrationStatus{}), map[int32]int64{}, map[int32]int64{}
		const none = -1
		var moving int32 = none
		type open struct {
			of    int32
			ended func(Sample)
		}
		var under []open
		end := func() {
			s := Sample{Start: time.Unix(1, 0)}
			if random.IntN(2) == 0 {
				s.Failure = "it failed"
				failed[under[0].of]++
			}
			under[0].ended(s)
			under = under[1:]
		}
		for range 100 {
			switch random.IntN(4) {
			case 0:
				if moving++; moving >= mostStretches {
					moving = mostStretches - 1
				}
				tally.Moves(handoff(moving, int64(moving)))
			case 1, 2:
				under = append(under, open{moving, tally.Send()})
				sent[moving]++
			case 3:
				if len(under) > 0 {
					end()
				}
			}
		}
		waiting := int64(len(under))
		status := tally.Status(time.Unix(9, 0))
		for len(under) > 0 {
			end()
		}
		all, bad := counted(t, tally, sent, failed)
		if all == 0 {
			continue
		}
		if status.Requests+status.Unanswered != all || status.Unanswered != waiting {
			t.Fatalf("%+v, want %d, %d unanswered", status, all, waiting)
		}
		if status = tally.Status(time.Unix(9, 0)); status.Requests != all || status.Failed != bad {
			t.Fatalf("%+v, want %d, %d failed", status, all, bad)
		}
	}
}

// counted checks the counts of each handoff, and returns their total.
func counted(t *testing.T, tally *Tally, sent, failed map[int32]int64) (all, bad int64) {
	t.Helper()
	for of, n := range sent {
		all, bad = all+n, bad+failed[of]
		if of < 0 {
			continue
		}
		if f := tally.Of(of, handoff(of, int64(of)).StartTime); f == nil || f.Requests != n || f.Failed != failed[of] || f.Unanswered != 0 {
			t.Fatalf("ordinal %d: %+v, want %d, %d failed", of, f, n, failed[of])
		}
	}
	return all, bad
}

// TestTallyContinues: the next process continues the counts, also those of the current ordinal, although times
// are stored with a lower precision.
func TestTallyContinues(t *testing.T) {
	tally := NewTally(api.MigrationStatus{})
	send := func(t *Tally, failure string) {
		t.Send()(Sample{Start: time.Unix(1, 0), Took: 7 * time.Millisecond, Failure: failure})
	}
	send(tally, "")
	tally.Moves(handoff(3, 100))
	send(tally, "it failed")
	send(tally, "")
	status := api.MigrationStatus{Handoff: handoff(3, 100), Probe: tally.Status(time.Unix(9, 0))}
	text, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var read api.MigrationStatus
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	next := NewTally(read)
	next.Moves(handoff(3, 100))
	send(next, "")
	next.Moves(nil)
	send(next, "")
	if all := next.Status(time.Unix(10, 0)); all.Requests != 5 || all.Failed != 1 || all.P99Milliseconds != 7 || all.Message != "it failed" || all.Moving != nil {
		t.Errorf("in all %+v", all)
	}
	if of := next.Of(3, handoff(3, 100).StartTime); of == nil || of.Requests != 3 || of.Failed != 1 || of.LongestMilliseconds != 7 {
		t.Errorf("of ordinal 3 %+v", of)
	}
	if of := next.Of(3, handoff(3, 101).StartTime); of != nil {
		t.Errorf("of another handoff %+v", of)
	}
}

// TestTallyIsBounded: the status has a bounded size for a migration of any length, and old handoffs are
// dropped.
func TestTallyIsBounded(t *testing.T) {
	tally := NewTally(api.MigrationStatus{})
	for i := range 100_000 {
		if i%10 == 0 {
			tally.Moves(handoff(int32(i), int64(i)))
		}
		s := Sample{Start: time.Unix(int64(i), 0), Took: time.Duration(i) * time.Millisecond}
		if i%5 == 0 {
			s.Failure = strings.Repeat("f", 5000)
		}
		tally.Send()(s)
	}
	text, err := json.Marshal(tally.Status(time.Unix(9, 0)))
	if err != nil || len(text) > 2048 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if got := len([]rune(tally.Status(time.Unix(9, 0)).Message)); got > 1024 {
		t.Errorf("the message has %d characters, for which there is no room", got)
	}
	if len(tally.stretches) > mostStretches {
		t.Errorf("%d handoffs are kept", len(tally.stretches))
	}
}

// TestTallyRefused: the reason why no request is sent is reported until one is sent.
func TestTallyRefused(t *testing.T) {
	tally := NewTally(api.MigrationStatus{})
	if s := tally.Status(time.Unix(9, 0)); s != nil {
		t.Errorf("nothing was sent, and it has %+v", s)
	}
	tally.Refuse("it may not be requested")
	if s := tally.Status(time.Unix(9, 0)); s == nil || s.Message != "it may not be requested" || !s.FailureTime.IsZero() {
		t.Errorf("%+v", s)
	}
	tally.Send()(Sample{Start: time.Unix(1, 0)})
	if s := tally.Status(time.Unix(9, 0)); s.Message != "" {
		t.Errorf("a request was sent, and it says %q", s.Message)
	}
}
