package engine

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestV4OutageAndSoak: an outage lasts until the ordinal's pod is Ready at the other side. It excludes the time
// that the pod must stay Ready, and the time in which no process observes.
func TestV4OutageAndSoak(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	stop, ready, end := start.Add(10400*time.Millisecond), start.Add(10700*time.Millisecond), start.Add(30*time.Second)
	at := func(now time.Time, pod *plan.Pod) plan.Snapshot {
		s := plan.Snapshot{Now: now}
		s.Source = plan.Side{Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, Replicas: 2}}
		s.Destination = plan.Side{Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, Start: 2, Replicas: 1, MinReady: 10 * time.Second}}
		if pod != nil {
			s.Destination.Pods = []plan.Pod{*pod}
		}
		return s
	}
	up := &plan.Pod{Ordinal: 2, Ready: true, Owned: true, ReadySince: ready.Truncate(time.Second)}
	for name, tc := range map[string]struct {
		looks []plan.Snapshot
		down  time.Duration
	}{
		"seen at once":                {[]plan.Snapshot{at(stop, nil), at(ready, up), at(end, up)}, 300 * time.Millisecond},
		"nobody looked until later":   {[]plan.Snapshot{at(stop, nil), at(end, up)}, 600 * time.Millisecond}, // whole seconds, plus one
		"it was not Ready in between": {[]plan.Snapshot{at(stop, nil), at(ready, up), at(ready.Add(time.Second), &plan.Pod{Ordinal: 2, Owned: true}), at(ready.Add(2*time.Second), &plan.Pod{Ordinal: 2, Ready: true, Owned: true, ReadySince: ready.Add(2 * time.Second).Truncate(time.Second)}), at(end, up)}, 2300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{}
			m.Status.Handoff = &api.Handoff{Ordinal: 2, StartTime: metav1.NewMicroTime(start)}
			d := downtime{ordinal: 2, direction: api.Forward, since: metav1.NewMicroTime(stop)}
			for _, s := range tc.looks {
				d.note(m, s)
			}
			if got := d.readyOf(*m.Status.Handoff).Sub(stop); got != tc.down {
				t.Errorf("down for %s, want %s", got, tc.down)
			}
			if kept := d.stopped(m.Status.Handoff); kept == nil || !kept.ReadyTime.Time.Equal(d.ready.Time) {
				t.Errorf("what is recorded of it: %+v", kept)
			}
		})
	}
}

// TestV4OutageBegins: an outage begins when the ordinal's pod stops serving, not when its set is scaled down. A
// controller that is slow to delete the pod does not lengthen it.
func TestV4OutageBegins(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	serving, leaving, sick := &plan.Pod{Ordinal: 2, Ready: true, Owned: true}, &plan.Pod{Ordinal: 2, Ready: true, Owned: true, Terminating: true}, &plan.Pod{Ordinal: 2, Owned: true}
	for name, tc := range map[string]struct {
		pods  []*plan.Pod // as seen each second from 10 on; the ordinal was stopped at 10
		fresh bool        // another process has taken over before the first of them
		stop  int         // 0: it is not known
		gone  int
	}{
		"it is deleted at once":                  {[]*plan.Pod{leaving, nil}, false, 10, 11},
		"its object is absent at once":           {[]*plan.Pod{nil}, false, 10, 10},
		"its controller is slow":                 {[]*plan.Pod{serving, serving, leaving, leaving, nil}, false, 12, 14},
		"it is not Ready, and then deleted":      {[]*plan.Pod{serving, sick, leaving, nil}, false, 11, 13},
		"it still serves":                        {[]*plan.Pod{serving, serving}, false, 0, 0},
		"it still serves when it was taken over": {[]*plan.Pod{serving, leaving, nil}, true, 11, 12},
		"it was leaving when it was taken over":  {[]*plan.Pod{leaving, nil}, true, 10, 11},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{}
			m.Status.Handoff = &api.Handoff{Ordinal: 2, StartTime: metav1.NewMicroTime(start)}
			look := func(now time.Time, replicas int32, pod *plan.Pod) plan.Snapshot {
				s := plan.Snapshot{Now: now}
				s.Source = plan.Side{Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, Replicas: replicas}}
				s.Destination = plan.Side{Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, Start: 3}}
				if pod != nil {
					s.Source.Pods = []plan.Pod{*pod}
				}
				return s
			}
			d := downtime{}
			d.note(m, look(at(9), 3, serving))
			d.wrote(plan.Effect{Verb: plan.ScaleDown, Ordinal: 2}, at(10))
			if tc.fresh {
				m.Status.History = &api.History{Stopped: d.stopped(m.Status.Handoff)}
				d = downtime{}
			}
			for i, pod := range tc.pods {
				d.note(m, look(at(10+i), 2, pod))
			}
			second := func(t metav1.MicroTime) int {
				if t.IsZero() {
					return 0
				}
				return int(t.Sub(start) / time.Second)
			}
			kept := d.stopped(m.Status.Handoff)
			if kept == nil || second(kept.StopTime) != tc.stop || second(kept.GoneTime) != tc.gone {
				t.Errorf("recorded: %+v", kept)
			}
		})
	}
}

// TestV4Parts: the parts of an outage follow each other from its begin to its end. The last pass of a copy is separate.
// They are recorded for the newest handoffs only, and only if all of them were seen.
func TestV4Parts(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) metav1.MicroTime {
		return metav1.NewMicroTime(start.Add(time.Duration(seconds * float64(time.Second))))
	}
	lasts := func(seconds float64) metav1.Duration {
		return metav1.Duration{Duration: time.Duration(seconds * float64(time.Second))}
	}
	finished := api.Handoff{Ordinal: 2, StartTime: at(1)}
	sealed := func(seconds ...int64) api.Handoff {
		copied := finished
		for _, each := range seconds {
			copied.Volumes = append(copied.Volumes, api.HandoffVolume{Copy: api.CopyAttempt{Seal: api.CopySeal{Root: "blake3:1", Seconds: each}}})
		}
		return copied
	}
	seen := downtime{ordinal: 2, direction: api.Forward, since: at(2), gone: at(2.5), released: at(4), started: at(7), ready: at(9.25)}
	for name, tc := range map[string]struct {
		finished api.Handoff
		change   func(*downtime)
		want     api.OutageParts
	}{
		"without a copy":           {finished, func(*downtime) {}, api.OutageParts{Stop: lasts(0.5), Detach: lasts(1.5), Carry: lasts(3), Start: lasts(2.25)}},
		"with copies":              {sealed(1, 2), func(*downtime) {}, api.OutageParts{Stop: lasts(0.5), Detach: lasts(1.5), Carry: lasts(1), Copy: lasts(2), Start: lasts(2.25)}},
		"whole seconds of a pass":  {sealed(4), func(*downtime) {}, api.OutageParts{Stop: lasts(0.5), Detach: lasts(1.5), Copy: lasts(3), Start: lasts(2.25)}},
		"not seen to be released":  {finished, func(d *downtime) { d.released = metav1.MicroTime{} }, api.OutageParts{}},
		"stopped before its start": {finished, func(d *downtime) { d.since = at(0.5) }, api.OutageParts{}},
		"clocks differ":            {finished, func(d *downtime) { d.ready = at(6) }, api.OutageParts{}},
		"another ordinal":          {finished, func(d *downtime) { d.ordinal = 1 }, api.OutageParts{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := seen
			tc.change(&d)
			if got := d.partsOf(tc.finished); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
	h := &api.History{}
	for range mostOutages + 3 {
		keepHandoff(h, api.PastHandoff{Outage: seen.partsOf(finished)})
	}
	for i, past := range h.Handoffs {
		if (past.Outage != api.OutageParts{}) != (i >= 3) {
			t.Errorf("handoff %d has %+v", i, past.Outage)
		}
	}
}

// TestV4PassesDivideTheOutage: the passes of a handoff record the ends of its parts.
func TestV4PassesDivideTheOutage(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	m := &api.Migration{}
	m.Status.Handoff = &api.Handoff{Ordinal: 2, StartTime: metav1.NewMicroTime(start)}
	d := downtime{}
	pass := func(second int, source, destination int32, pods [2]*plan.Pod, step api.Step) {
		s := plan.Snapshot{Now: start.Add(time.Duration(second) * time.Second)}
		s.Source = plan.Side{Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, Replicas: source}}
		s.Destination = plan.Side{Reach: plan.Seen, Set: plan.Set{Presence: plan.Seen, Start: 3 - destination, Replicas: destination}}
		for i, side := range []*plan.Side{&s.Source, &s.Destination} {
			if pods[i] != nil {
				side.Pods = []plan.Pod{*pods[i]}
			}
		}
		d.note(m, s)
		d.reached(step, s.Now)
	}
	ready := &plan.Pod{Ordinal: 2, Ready: true, Owned: true}
	leaving := &plan.Pod{Ordinal: 2, Owned: true, Terminating: true}
	pass(1, 3, 0, [2]*plan.Pod{ready, nil}, api.StepScaleDown)
	d.wrote(plan.Effect{Verb: plan.ScaleDown, Ordinal: 2}, start.Add(1*time.Second))
	pass(2, 2, 0, [2]*plan.Pod{ready, nil}, api.StepAwaitRelease)
	pass(4, 2, 0, [2]*plan.Pod{leaving, nil}, api.StepAwaitRelease)
	pass(5, 2, 0, [2]*plan.Pod{}, api.StepAwaitRelease)
	pass(7, 2, 0, [2]*plan.Pod{}, api.StepCarryVolumes)
	pass(8, 2, 0, [2]*plan.Pod{}, api.StepScaleUp)
	d.wrote(plan.Effect{Verb: plan.ScaleUp, Ordinal: 2}, start.Add(11*time.Second))
	pass(12, 2, 1, [2]*plan.Pod{nil, {Ordinal: 2, Owned: true}}, api.StepAwaitReadiness)
	pass(16, 2, 1, [2]*plan.Pod{nil, ready}, api.StepAwaitReadiness)
	in := func(seconds int) metav1.Duration {
		return metav1.Duration{Duration: time.Duration(seconds) * time.Second}
	}
	want := api.OutageParts{Stop: in(1), Detach: in(2), Carry: in(4), Start: in(5)}
	if got := d.partsOf(*m.Status.Handoff); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
