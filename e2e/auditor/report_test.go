package auditor

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

func goodReport() Report {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	return Report{
		Source: "shop/web in east", Destination: "shop/web in west",
		Applies:  []Invariant{I1, I2, I3, I4},
		Checks:   map[Invariant]int{I1: 1, I2: 12, I3: 14, I4: 20},
		Replicas: 5, Moved: 1, Budget: 1,
		FewestAvailable: 4, FewestAt: at,
		Ordinals: []judge.OrdinalTime{{
			Ordinal: 4, From: "source", To: "destination", Ready: at.Add(time.Second),
			Down: metav1.Duration{Duration: 213 * time.Millisecond},
		}},
		VolumesVerified: 1,
	}
}

func TestReportOK(t *testing.T) {
	finding := []Finding{{Invariant: I1, Ordinal: 4, Message: "m"}}
	cases := map[string]struct {
		change      func(*Report)
		want        bool
		wantVerdict string
	}{
		"all checked":                      {func(*Report) {}, true, "OK: 1 of 5 ordinals moved"},
		"a violation":                      {func(r *Report) { r.Violations = finding }, false, "REFUTED: 1 violations"},
		"an unproved check":                {func(r *Report) { r.Unproved = finding }, false, "NOT PROVED: 1 checks were not possible"},
		"one invariant was never checked":  {func(r *Report) { r.Checks[I4] = 0 }, false, "NOT PROVED: never checked: [I4]"},
		"it does not apply":                {func(r *Report) { r.Checks[I4], r.Applies = 0, []Invariant{I1, I2, I3} }, true, "OK: 1 of 5 ordinals moved"},
		"nothing moved, nothing to check":  {func(r *Report) { r.Checks, r.Moved = nil, 0 }, true, "OK: 0 of 5 ordinals moved"},
		"in place":                         {func(r *Report) { r.InPlace, r.Moved, r.Returned = true, 0, 2 }, true, "OK: of 5 ordinals 0 started on other volumes, and 2 again on their own"},
		"an auditor that saw nothing":      {func(r *Report) { r.Checks = nil }, false, "NOT PROVED: never checked: [I1 I2 I3 I4]"},
		"a violation outweighs the others": {func(r *Report) { r.Violations, r.Unproved = finding, finding }, false, "REFUTED: 1 violations"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := goodReport()
			tc.change(&r)
			if got := r.OK(); got != tc.want {
				t.Errorf("OK is %t, want %t", got, tc.want)
			}
			if !strings.Contains(r.String(), tc.wantVerdict) {
				t.Errorf("%q is missing in\n%s", tc.wantVerdict, r)
			}
		})
	}
}

func TestReportString(t *testing.T) {
	r := goodReport()
	r.Violations = []Finding{{Invariant: I4, Ordinal: WholeSet, Message: "2 > 1", Time: r.FewestAt}}
	r.Unproved = []Finding{{Invariant: I1, Ordinal: 3, Message: "no answer", Time: r.FewestAt}}
	want := `audit of shop/web in east -> shop/web in west
I1  at most one       1 checks   0 violations  1 unproved
I2  exclusive volume  12 checks  0 violations
I3  no data lost      14 checks  0 violations
I4  budget d=1        20 checks  1 violations
fewest available  4 of 5 at 12:00:00.000
volumes verified  1
ordinal 4         source -> destination, down 0.213 s, Ready at 12:00:01.000
VIOLATION I4 whole set at 12:00:00.000: 2 > 1
UNPROVED I1 ordinal 3 at 12:00:00.000: no answer
REFUTED: 1 violations
`
	if diff := cmp.Diff(want, r.String()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestLedgerRecordsOnce(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	l := newLedger(testingclock.NewFakePassiveClock(now))
	for range 2 {
		l.violated(I1, 4, "both")
		l.notProved(I1, 4, "both")
	}
	var got Report
	l.fill(&got)
	finding := []Finding{{Invariant: I1, Ordinal: 4, Message: "both", Time: now}}
	want := Report{Violations: finding, Unproved: finding, Checks: map[Invariant]int{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
