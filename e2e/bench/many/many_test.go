package many

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sliceshift/sliceshift/e2e/measure"
)

func TestFiguresOf(t *testing.T) {
	begin := time.Unix(100, 0)
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	done := func(completed int) seen {
		return seen{replicas: 2, created: at(0), spoke: at(1), stopped: at(3), arrived: at(completed - 1), moved: 2, arrivals: []time.Time{at(3), at(completed - 1)}, completed: at(completed)}
	}
	for name, tc := range map[string]struct {
		all  []seen
		end  int
		want layoutFigures
	}{
		"all are completed": {
			[]seen{done(4), done(5), done(10)},
			10,
			layoutFigures{PerSecond: 0.6, PerSecondOverTime: []float64{0.6}, FirstStopSeconds: 3, SilentSeconds: 1, Fairness: 2, Migrations: 3, Completed: 3, Arrived: 6, Seconds: 10},
		},
		"one is not, and has not said a word": {
			[]seen{done(4), done(5), {replicas: 2, created: at(2), moved: 1}},
			20,
			layoutFigures{PerSecond: 0.25, PerSecondOverTime: []float64{0.2}, FirstStopSeconds: 3, SilentSeconds: 18, Fairness: 3.6, Migrations: 3, Completed: 2, Arrived: 5, Seconds: 20},
		},
		"nothing has happened": {
			[]seen{{replicas: 2, created: at(0)}},
			20,
			layoutFigures{PerSecondOverTime: []float64{0}, FirstStopSeconds: 20, SilentSeconds: 20, Fairness: 1, Migrations: 1, Seconds: 20},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, figuresOf(tc.all, span{begin, at(tc.end)}), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOverTime: a decreasing rate is visible in the result.
func TestOverTime(t *testing.T) {
	begin := time.Unix(100, 0)
	at := func(seconds ...int) (times []time.Time) {
		for _, s := range seconds {
			times = append(times, begin.Add(time.Duration(s)*time.Second))
		}
		return times
	}
	got := overTime([]seen{{arrivals: at(1, 2, 29)}, {arrivals: at(0, 59, 61, 66)}}, span{begin, at(64)[0]})
	if diff := cmp.Diff([]float64{4. / 30, 1. / 30, 2. / 4}, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUsage: watches do not count as reads, nor reviews and dry runs as writes. Handoffs that have not arrived are no
// divisor.
func TestUsage(t *testing.T) {
	before := usage{sent: measure.Counts{Reads: 100, Writes: 10}, apart: apart{watches: 20, reviews: 1, dryRuns: 3}, cpu: 1}
	after := usage{sent: measure.Counts{Reads: 160, Writes: 28, Refused: 1}, apart: apart{watches: 40, reviews: 5, dryRuns: 5}, cpu: 3}
	f := layoutFigures{Arrived: 2, Seconds: 4}
	f.takeUsage(before, after)
	want := layoutFigures{
		Arrived: 2, Seconds: 4, ReadsPerHandoff: 20, WritesPerHandoff: 6, RefusedPerHandoff: 0.5, WatchesPerHandoff: 10, ReviewsPerHandoff: 2, DryRunsPerHandoff: 1, RequestsPerSecond: 19.5, CPUSeconds: 2,
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	none := layoutFigures{Seconds: 4}
	none.takeUsage(before, after)
	if none.ReadsPerHandoff != 0 {
		t.Errorf("%v reads of no handoff", none.ReadsPerHandoff)
	}
}

func TestSumApart(t *testing.T) {
	const metrics = `# TYPE apiserver_flowcontrol_dispatched_requests_total counter
apiserver_flowcontrol_dispatched_requests_total{flow_schema="bench-watches-of-accounts",priority_level="workload-low"} 12
apiserver_flowcontrol_dispatched_requests_total{flow_schema="bench-watches-of-users",priority_level="global-default"} 1e+01
apiserver_flowcontrol_dispatched_requests_total{flow_schema="bench-reviews-of-users",priority_level="global-default"} 7
apiserver_flowcontrol_dispatched_requests_total{flow_schema="exempt",priority_level="exempt"} 500
apiserver_request_total{code="201",component="apiserver",dry_run="All",group="",resource="pods",scope="resource",subresource="",verb="POST",version="v1"} 3
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="GET",version="v1"} 900
`
	if got, err := sumApart([]byte(metrics)); err != nil || got != (apart{watches: 22, reviews: 7, dryRuns: 3}) {
		t.Errorf("%+v and error %v, want 22 watches, 7 reviews and 3 dry runs", got, err)
	}
}

// TestUnfinished: Migrations that are not completed miss a goal.
func TestUnfinished(t *testing.T) {
	l := named{layoutFigures{Migrations: 2, Completed: 1}, "one namespace"}
	if rows := l.rows(aloneFigures{}); !rows[0].Missed {
		t.Errorf("%+v", rows[0])
	}
}

// TestFurther: the cost of a further handoff does not include the fixed cost of a Migration.
func TestFurther(t *testing.T) {
	const once, each = 40, 9
	f := figures{}
	of := func(arrived int) layoutFigures {
		return layoutFigures{Arrived: arrived, WritesPerHandoff: float64(once+each*arrived) / float64(arrived)}
	}
	f.Few, f.Longer = of(10), of(20)
	f.compare()
	if diff := cmp.Diff(furtherFigures{Writes: each}, f.Further, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("a further handoff (-want +got):\n%s", diff)
	}
	f.Longer = of(10)
	f.Further = furtherFigures{}
	if f.compare(); f.Further != (furtherFigures{}) {
		t.Errorf("no further handoffs take %+v", f.Further)
	}
}
