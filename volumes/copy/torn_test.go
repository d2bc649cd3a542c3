package copy

import (
	"strings"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/volumes"
)

// tears lets every disk fail that a receiver has mounted.
func (w *world) tears() {
	for _, name := range w.names() {
		if m := w.movers[name]; m.role == volumes.RoleReceiver && m.mounted != nil && !m.Ended {
			m.Ended, m.ResourceVersion = true, w.Next()
			m.Result = volumes.MoverResult{Torn: true, Message: "input/output error"}
		}
	}
}

// TestTornIsBounded: if each new disk fails, the ordinal keeps running, and the pauses between disks grow. The
// record has the count and the reason, and the user is told these and the remedy. Once a disk does not fail, it
// is used, and the count is reset.
func TestTornIsBounded(t *testing.T) {
	w, attempts := newWorld(), map[int32]bool{}
	told := 0
	for end := w.Now.Add(24 * time.Hour); w.Now.Before(end); w.Now = w.Now.Add(20 * time.Second) {
		w.Step(t)
		w.tears()
		attempts[w.Record.Number] = true
		if w.Runs != w.Giver {
			t.Fatalf("it is stopped, and has no copy: %+v", w.Record)
		}
		problem := (Copy{}).Ahead(w.Pair(), volumes.Warm).Hold
		if problem == nil {
			continue
		}
		told++
		for _, part := range []string{"input/output error", "east/data-web-0", "attempts, one after the other", "begins at 2026-01-0", "runs on"} {
			if problem.Reason != volumes.ReasonCopyStuck || !strings.Contains(problem.Message, part) {
				t.Fatalf("no %q in %+v", part, problem)
			}
		}
		for _, part := range []string{"kubectl describe pv pvc-", "kubectl delete pvc -n west " + w.Pair().Copy.Incoming.Ref.Name, "--storage-class data="} {
			if !strings.Contains(problem.Remedy, part) {
				t.Fatalf("no %q in %s", part, problem.Remedy)
			}
		}
	}
	if n := len(attempts); n < 10 || n > 32 || told == 0 {
		t.Errorf("%d attempts in a day, told of %d times", n, told)
	}
	if torn := w.Record.Torn; int(torn.Times) < len(attempts)-2 || torn.Message != "input/output error" || torn.Time.IsZero() {
		t.Errorf("recorded is %+v of %d", torn, len(attempts))
	}
	if disks := len(w.Places[1].Disks); disks > 1 {
		t.Errorf("%d disks are left of attempts", disks)
	}
	for range 1000 {
		if w.Runs != w.Giver {
			break
		}
		w.Step(t)
		w.Now = w.Now.Add(10 * time.Second)
	}
	if w.Runs == w.Giver || w.Record.Torn.Times != 0 {
		t.Errorf("it is not copied when disks hold: %+v", w.Record)
	}
}

// TestTornAtOnce: the first disk that fails is replaced at once. Later ones are replaced after their pause, or
// once the user has deleted the claim of the last one.
func TestTornAtOnce(t *testing.T) {
	torn := func(times int32, change func(*volumes.Pair, *volumes.Copying)) volumes.Verdict {
		return ahead(until(t, warming).Pair(), func(p *volumes.Pair, c *volumes.Copying) {
			c.Attempt.Torn.Times, c.Attempt.Torn.Attempt, c.Attempt.Torn.Message = times, c.Attempt.Number, "input/output error"
			c.Attempt.Torn.Time.Time = c.Now
			c.Receiver, c.Warm = volumes.Mover{}, volumes.Mover{}
			change(p, c)
		})
	}
	after := func(since time.Duration) func(*volumes.Pair, *volumes.Copying) {
		return func(_ *volumes.Pair, c *volumes.Copying) { c.Now = c.Now.Add(since) }
	}
	for name, tc := range map[string]struct {
		times  int32
		change func(*volumes.Pair, *volumes.Copying)
		waits  bool
	}{
		"the first":                   {1, after(0), false},
		"the second":                  {2, after(0), true},
		"before its minute is over":   {2, after(secondPause - time.Second), true},
		"when it is over":             {2, after(secondPause), false},
		"the third waits for longer":  {3, after(secondPause), true},
		"but not for twice as long":   {3, after(2 * secondPause), false},
		"the hundredth for an hour":   {100, after(longestPause - time.Second), true},
		"and no longer":               {100, after(longestPause), false},
		"its claim is deleted":        {3, func(_ *volumes.Pair, c *volumes.Copying) { c.Incoming.Claim.Terminating = true }, false},
		"its claim is gone":           {3, func(_ *volumes.Pair, c *volumes.Copying) { c.Incoming.Claim = volumes.Claim{} }, false},
		"one of another attempt does": {3, func(_ *volumes.Pair, c *volumes.Copying) { c.Attempt.Torn.Attempt-- }, false},
	} {
		got := torn(tc.times, tc.change)
		if (got.Hold != nil) != tc.waits {
			t.Errorf("%s: %+v", name, got)
		}
	}
	begun := torn(4, func(_ *volumes.Pair, c *volumes.Copying) { c.Incoming.Claim = volumes.Claim{} }).Attempt
	if begun == nil || begun.Torn.Times != 4 || begun.Torn.Attempt == begun.Number {
		t.Errorf("the next attempt is %+v", begun)
	}
}

// TestTornWhileDown: the same holds in the last pass, while the ordinal is down. The message says how the ordinal goes
// back, and it does.
func TestTornWhileDown(t *testing.T) {
	pair := untilIn(t, attached, introduced).Pair()
	tore := transfer(pair, end(volumes.MoverResult{}, volumes.MoverResult{Torn: true, Message: "input/output error"}))
	if tore.Attempt == nil || tore.Attempt.Torn.Times != 1 || tore.Attempt.Torn.Message != "input/output error" || tore.Attempt.Torn.Attempt != pair.Copy.Attempt.Number {
		t.Fatalf("got %+v", tore)
	}
	twice := func(c *volumes.Copying) {
		c.Attempt = *tore.Attempt
		c.Attempt.Torn.Times, c.Receiver, c.Sender = 2, volumes.Mover{}, volumes.Mover{}
	}
	got := transfer(pair, twice).Hold
	if got == nil || got.Reason != volumes.ReasonCopyStuck || !strings.Contains(got.Message, "down meanwhile") || !strings.Contains(got.Message, "Rollback") {
		t.Errorf("got %+v", got)
	}
	pair.Giver, pair.Taker = pair.Taker, pair.Giver
	if got := transfer(pair, func(c *volumes.Copying) { twice(c); c.Back = true }); got.Hold != nil || got.Done() {
		t.Errorf("on its way back: %+v", got)
	}
}
