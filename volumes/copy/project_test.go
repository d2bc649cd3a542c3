package copy

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

const gib = 1 << 30

// warmedAt returns the verdict for a pair whose last warm pass has this result and ended now.
func warmedAt(t *testing.T, done api.CopyWarm, change func(*volumes.Copying)) volumes.Verdict {
	t.Helper()
	return ahead(until(t, warming).Pair(), func(_ *volumes.Pair, c *volumes.Copying) {
		done.Ended = metav1.NewTime(c.Now)
		c.Attempt.Warm, c.Warm, c.Receiver = done, volumes.Mover{}, volumes.Mover{}
		change(c)
	})
}

// TestCutover: an ordinal is stopped if its projected downtime fits. If more passes help, they are made; if
// not, it is reported to the user.
func TestCutover(t *testing.T) {
	small := api.CopyWarm{Passes: 1, Bytes: 1 << 20, Written: 1 << 20, Seconds: 1}
	large := api.CopyWarm{Passes: 2, Bytes: 100 * gib, Seconds: 5, Rate: 200 << 20}
	long := api.CopyWarm{Passes: 1, Bytes: gib / 2, Written: gib / 2, Seconds: 300, Rate: gib / 600}
	quick := api.CopyWarm{Passes: 2, Bytes: 10 * gib, Seconds: 5, Rate: 10 << 20, ReadRate: 1 << 30}
	slow := api.CopyWarm{Passes: 2, Bytes: 2 * gib, Seconds: 5, Rate: 1 << 30, ReadRate: 40 << 20}
	busy := api.CopyWarm{Passes: 2, Bytes: gib / 2, Seconds: 10, Rate: 100 << 20, Changes: 90 << 20}
	calm := api.CopyWarm{Passes: 2, Bytes: gib / 2, Seconds: 10, Rate: 100 << 20, Changes: 1 << 20}
	is := func(cutover api.CopyCutover) func(*volumes.Copying) {
		return func(c *volumes.Copying) { c.Asked.Cutover = cutover }
	}
	at := func(left time.Duration) func(*volumes.Copying) {
		return func(c *volumes.Copying) {
			c.Asked.Cutover, c.Asked.CutoverAt = api.CutoverAt, c.Now.Add(left)
		}
	}
	later := func(since time.Duration) func(*volumes.Copying) {
		return func(c *volumes.Copying) { c.Now = c.Now.Add(since) }
	}
	over := warmedAt(t, large, is("")).Hold
	if got := warmedAt(t, small, at(time.Second)); got.Look != time.Second || !strings.Contains(got.Waits, "2026-01-01T00:") || !strings.Contains(got.Waits, "down for about 1") {
		t.Errorf("before its time: %+v", got)
	}
	if got := warmedAt(t, small, at(time.Hour)); got.Look != atLook {
		t.Errorf("long before its time: %+v", got)
	}
	const stops, waits, pass = "it is stopped", "it waits", "another pass"
	for name, tc := range map[string]struct {
		done   api.CopyWarm
		change func(*volumes.Copying)
		want   string
	}{
		"little to read":                     {small, is(""), stops},
		"little, and a person is to say so":  {small, is(api.CutoverManual), volumes.ReasonCopyAwaitsWord},
		"reading alone takes too long":       {large, is(api.CutoverAutomatic), volumes.ReasonCopyOverBudget},
		"much, and it is read fast":          {quick, is(""), stops},
		"fast to send, and slow to read":     {slow, is(""), volumes.ReasonCopyOverBudget},
		"too long, and a person has said so": {large, is(api.CutoverNow), stops},
		"its time has not come":              {small, at(time.Hour), waits},
		"its time comes soon":                {small, at(time.Second), waits},
		"its time has come":                  {large, at(0), stops},
		"no time is named":                   {small, is(api.CutoverAt), volumes.ReasonCopyAwaitsWord},
		"it goes back before its time":       {small, func(c *volumes.Copying) { at(time.Hour)(c); c.Returns = true }, stops},
		"it is kept warm until then":         {calm, func(c *volumes.Copying) { at(time.Hour)(c); later(stale + time.Second)(c) }, pass},
		"too long, and it goes back":         {large, func(c *volumes.Copying) { c.Returns = true }, stops},
		"it goes back by hand":               {small, func(c *volumes.Copying) { c.Returns, c.Asked.Cutover = true, api.CutoverManual }, stops},
		"too long, but for a larger budget":  {large, func(c *volumes.Copying) { c.Asked.Budget = time.Hour }, stops},
		"the first pass has taken long":      {long, is(""), waits},
		"a little later":                     {long, later(between), pass},
		"it writes much":                     {busy, func(c *volumes.Copying) { c.Asked.Budget = 25 * time.Second; later(between)(c) }, pass},
		"it writes little":                   {calm, is(""), stops},
		"it was long ago":                    {calm, later(stale + time.Second), pass},
		"long ago, and a person decides":     {calm, func(c *volumes.Copying) { is(api.CutoverManual)(c); later(stale + time.Second)(c) }, pass},
	} {
		t.Run(name, func(t *testing.T) {
			got, have := warmedAt(t, tc.done, tc.change), stops
			switch {
			case got.Hold != nil:
				have = got.Hold.Reason
			case got.Waits != "":
				have = waits
			case got.Action != nil:
				have = pass
			}
			if have != tc.want {
				t.Errorf("%s: %+v", have, got)
			}
		})
	}
	for _, part := range []string{"8m42s", "8m12s less", "30s", "100Gi", "200Mi a second as assumed"} {
		if !strings.Contains(over.Message, part) {
			t.Errorf("no %s in: %s", part, over.Message)
		}
	}
	if !strings.Contains(over.Remedy, "downtime=11m") {
		t.Errorf("the remedy: %s", over.Remedy)
	}
	if !strings.Contains(over.Remedy, "cutover: Now") || !strings.Contains(over.Remedy, "cutover=now") {
		t.Errorf("the remedy: %s", over.Remedy)
	}
}

// TestV4HandoverIsMeasured: what earlier handoffs took for pods and volumes is projected instead of the assumption, and
// their last passes are not.
func TestV4HandoverIsMeasured(t *testing.T) {
	const s = time.Second
	done := api.CopyWarm{Passes: 2, Bytes: gib, Seconds: 5, Rate: gib, ReadRate: gib / 16} // 16 s to read
	of := func(o volumes.Outage) func(*volumes.Copying) { return func(c *volumes.Copying) { c.Outage = o } }
	if got := warmedAt(t, done, of(volumes.Outage{})).Hold; got != nil {
		t.Errorf("as assumed: %+v", got)
	}
	if got := warmedAt(t, done, of(volumes.Outage{Stop: s, Detach: 2 * s, Carry: s, Copy: time.Hour, Start: 3 * s, Measured: 2})).Hold; got != nil {
		t.Errorf("measured, and short: %+v", got)
	}
	got := warmedAt(t, done, of(volumes.Outage{Stop: 15 * s, Detach: 12 * s, Carry: s, Copy: s, Start: 3 * s, Measured: 2})).Hold
	if got == nil || got.Reason != volumes.ReasonCopyOverBudget || !strings.Contains(got.Message, "31s for pods and volumes (stop 15s, detach 12s, carry 1s, start 3s, median of 2)") {
		t.Errorf("measured, and long: %+v", got)
	}
}

// TestMeasure: rates come from passes that have written enough, and changes are counted between the starts of
// passes.
func TestMeasure(t *testing.T) {
	at := func(after time.Duration) metav1.Time { return metav1.NewTime(time.Unix(1000, 0).Add(after)) }
	first := api.CopyWarm{Passes: 1, Ended: at(100 * time.Second), Written: 100 << 20, Seconds: 100}
	measure(&first, api.CopyWarm{}, 0)
	if first.Rate != 1<<20 || first.Changes != 0 {
		t.Errorf("after the first: %+v", first)
	}
	second := api.CopyWarm{Passes: 2, Ended: at(115 * time.Second), Written: 1 << 20, Seconds: 5, Rate: first.Rate}
	measure(&second, first, 0)
	if second.Rate != 1<<20 || second.Changes != (1<<20)/110 {
		t.Errorf("after the second: %+v", second)
	}
}

// TestReadRate: the slower of two sides counts, and the latest measurement. Without one, the copy's own rate or
// the assumed rate applies.
func TestReadRate(t *testing.T) {
	for name, tc := range map[string]struct {
		receiver, sender int64
		before           api.CopyWarm
		want             int64
	}{
		"neither was measured":      {0, 0, api.CopyWarm{}, assumed},
		"one was":                   {0, 7 << 20, api.CopyWarm{}, 7 << 20},
		"the sender is slower":      {9 << 20, 7 << 20, api.CopyWarm{}, 7 << 20},
		"the receiver is slower":    {7 << 20, 9 << 20, api.CopyWarm{ReadRate: 1 << 20}, 7 << 20},
		"as before":                 {0, 0, api.CopyWarm{ReadRate: 1 << 20}, 1 << 20},
		"a fast copy, nothing else": {0, 0, api.CopyWarm{Rate: 1 << 30}, 1 << 30},
		"a slow copy, nothing else": {0, 0, api.CopyWarm{Rate: 1 << 20}, assumed},
	} {
		next := ahead(until(t, warming).Pair(), func(_ *volumes.Pair, c *volumes.Copying) {
			c.Attempt.Warm = tc.before
			for m, rate := range map[*volumes.Mover]int64{&c.Receiver: tc.receiver, &c.Warm: tc.sender} {
				m.Ended, m.Result = true, volumes.MoverResult{Done: true, Bytes: gib, ReadRate: rate}
			}
		}).Attempt
		if next == nil {
			t.Fatalf("%s: the pass is not recorded", name)
		}
		if got := readRate(next.Warm); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

// TestDoubt: a warning says in advance that an ordinal with so large a claim may never be stopped
// automatically, and for which budget it would be.
func TestDoubt(t *testing.T) {
	of := func(change func(*volumes.Pair, *volumes.Copying)) *volumes.Reason {
		pair := newWorld().Pair()
		seen := *pair.Copy
		pair.Copy = &seen
		seen.Asked.Needed, seen.Asked.Verify = 100*gib, api.CopyVerifyFull
		change(&pair, &seen)
		if found := warned(pair); len(found) > 0 {
			return &found[0]
		}
		return nil
	}
	got := of(func(*volumes.Pair, *volumes.Copying) {})
	if got == nil || got.Reason != volumes.ReasonCopyMayNotFit {
		t.Fatalf("got %+v", got)
	}
	for text, parts := range map[string][]string{
		got.Message: {"30s", "east/data-web-0", "100Gi", "takes 50s", "10s for pods", "2Gi a second, which is assumed", "CopyOverBudget"},
		got.Remedy:  {"at least 2m", "data=copy,...,downtime=2m,", "copy.downtimeBudget: 2m for", "cutover=now"},
	} {
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("no %q in: %s", part, text)
			}
		}
	}
	if got := of(func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Needed = 41 * gib }); got == nil {
		t.Error("a little more than fits the default budget")
	}
	for name, change := range map[string]func(*volumes.Pair, *volumes.Copying){
		"a claim as most are":     func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Needed = gib },
		"as large as may fit":     func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Needed = 40 * gib },
		"it was measured":         func(_ *volumes.Pair, c *volumes.Copying) { c.Attempt.Number, c.Attempt.Warm.Passes = 1, 1 },
		"nobody knows how large":  func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Needed = 0 },
		"it may be down for long": func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Budget = time.Hour },
		"a person decides":        func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Cutover = api.CutoverManual },
		"a person has decided":    func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Cutover = api.CutoverNow },
		"nothing is projected":    func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Warm = api.CopyWarmNone },
		"it is not asked for":     func(p *volumes.Pair, _ *volumes.Copying) { p.Copy = nil },
	} {
		if got := of(change); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestProjection: a longer wait after a warm pass does not reduce the projected downtime, and neither does a
// larger volume. If a projection does not fit and another pass does not help, proof and handover alone exceed the
// budget.
func TestProjection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		done := api.CopyWarm{
			Passes: rapid.Int32Range(1, 3).Draw(t, "passes"), Bytes: rapid.Int64Range(0, 1<<50).Draw(t, "bytes"), Seconds: rapid.Int64Range(0, 1e6).Draw(t, "seconds"),
			ReadRate: rapid.Int64Range(0, 1<<33).Draw(t, "read rate"),
			Rate:     rapid.Int64Range(0, 1<<33).Draw(t, "rate"), Changes: rapid.Int64Range(0, 1<<33).Draw(t, "changes"), Ended: metav1.NewTime(time.Unix(1000, 0)),
		}
		at := func(since time.Duration, more int64) projection {
			v := view{Handing: volumes.Handing{Copying: volumes.Copying{Now: done.Ended.Add(since)}}}
			v.Attempt.Warm = done
			v.Attempt.Warm.Bytes += more
			return v.project()
		}
		since := time.Duration(rapid.Int64Range(0, 1e13).Draw(t, "since"))
		now, later, larger := at(since, 0), at(since+time.Minute, 0), at(since, gib)
		if later.downtime() < now.downtime() || larger.downtime() < now.downtime() || now.downtime() < now.handover() {
			t.Fatalf("now %s, later %s, larger %s", now, later, larger)
		}
		budget := time.Duration(rapid.Int64Range(1, 1e14).Draw(t, "budget"))
		if now.downtime() > budget && !now.helps(budget) && now.handover()+now.proof < budget {
			t.Fatalf("%s, budget %s", now, budget)
		}
	})
}
