package main

import (
	"errors"
	"time"

	"github.com/sliceshift/sliceshift/e2e/measure"
)

// figures are what a run has measured, as they are written to the file.
type figures struct {
	Alone          aloneFigures  `json:"alone"`
	OneNamespace   layoutFigures `json:"one_namespace"`
	ManyNamespaces layoutFigures `json:"many_namespaces"`
	Growth         growthFigures `json:"growth"`
	Cores          int           `json:"cores"`
	Seconds        float64       `json:"run_seconds"`

	// Few is the layout in one namespace with a tenth of the Migrations, Longer the same with
	// twice the ordinals.
	Few    layoutFigures `json:"few"`
	Longer layoutFigures `json:"longer"`
	// Further is what a handoff costs without the start and the end of its Migration: what Longer
	// has sent more than Few, for each of the handoffs that it has more.
	Further furtherFigures `json:"further_handoff"`
}

// contenderFigures are of one StatefulSet that moves alone.
type contenderFigures struct {
	// PerSecond are ordinals.
	PerSecond float64 `json:"per_second"`
	// SecondsPerHandoff are from the first ordinal's stop to the last one's arrival, divided by
	// the ordinals; seen from outside.
	SecondsPerHandoff float64 `json:"seconds_per_handoff"`
	ReadsPerHandoff   float64 `json:"reads_per_handoff"`
	WritesPerHandoff  float64 `json:"writes_per_handoff"`
}

// aloneFigures are of the command, and within of the manager; medians of the rounds.
type aloneFigures struct {
	contenderFigures
	Manager            managerFigures `json:"manager"`
	ManagerOverCommand float64        `json:"manager_over_command"`
	Ordinals           int            `json:"ordinals"`
	Rounds             int            `json:"rounds"`
}

// managerFigures are of the manager with one Migration.
type managerFigures struct {
	contenderFigures
	// SecondsPerOrdinal are from the creation of the Migration to its completion.
	SecondsPerOrdinal float64 `json:"seconds_per_ordinal"`
	PeakMiB           float64 `json:"peak_mib"`
	CPUSeconds        float64 `json:"cpu_seconds"`
}

// layoutFigures are of many Migrations at once.
type layoutFigures struct {
	// PerSecond are handoffs that have arrived, from the first Migration's creation to the last
	// one's completion.
	PerSecond         float64 `json:"per_second"`
	ReadsPerHandoff   float64 `json:"reads_per_handoff"`
	WritesPerHandoff  float64 `json:"writes_per_handoff"`
	RefusedPerHandoff float64 `json:"refused_writes_per_handoff"`
	WatchesPerHandoff float64 `json:"watches_per_handoff"`
	// ReviewsPerHandoff are questions who may do what; they are not among the writes.
	ReviewsPerHandoff float64 `json:"reviews_per_handoff"`
	// DryRunsPerHandoff are questions what a write would come to; they are not among the writes.
	DryRunsPerHandoff float64 `json:"dry_runs_per_handoff"`
	// RequestsPerSecond are all of these.
	RequestsPerSecond float64 `json:"requests_per_second"`
	// FirstStopSeconds are from the first Migration's creation to the first stop of all.
	FirstStopSeconds float64 `json:"first_stop_seconds"`
	// SilentSeconds is the longest that a Migration had no condition.
	SilentSeconds float64 `json:"silent_seconds"`
	// PerSecondOverTime are the handoffs a second of each interval of 30 s in turn.
	PerSecondOverTime []float64 `json:"per_second_over_time"`
	// Fairness is the slowest Migration's time over the median one's.
	Fairness   float64 `json:"fairness"`
	PeakMiB    float64 `json:"peak_mib"`
	CPUSeconds float64 `json:"cpu_seconds"`

	Migrations int     `json:"migrations"`
	Ordinals   int     `json:"ordinals"`
	Completed  int     `json:"completed"`
	Arrived    int     `json:"arrived"`
	Seconds    float64 `json:"seconds"`
}

// growthFigures set few Migrations in one namespace beside all of them.
type growthFigures struct {
	Migrations      fewAndMany `json:"migrations"`
	PerSecond       fewAndMany `json:"per_second"`
	ReadsPerHandoff fewAndMany `json:"reads_per_handoff"`
}

type furtherFigures struct {
	Reads  float64 `json:"reads"`
	Writes float64 `json:"writes"`
}

type fewAndMany struct {
	Few  float64 `json:"few"`
	Many float64 `json:"many"`
}

// measured says whether it was.
func (f layoutFigures) measured() bool { return f.Migrations > 0 }

// compare fills in what is known of several parts.
func (f *figures) compare() {
	few, many, longer := f.Few, f.OneNamespace, f.Longer
	further := func(of func(layoutFigures) float64) float64 {
		return (of(longer)*float64(longer.Arrived) - of(few)*float64(few.Arrived)) / float64(longer.Arrived-few.Arrived)
	}
	if longer.Arrived > few.Arrived {
		f.Further.Reads = further(func(l layoutFigures) float64 { return l.ReadsPerHandoff })
		f.Further.Writes = further(func(l layoutFigures) float64 { return l.WritesPerHandoff })
	}
	f.Growth = growthFigures{
		Migrations:      fewAndMany{float64(few.Migrations), float64(many.Migrations)},
		PerSecond:       fewAndMany{few.PerSecond, many.PerSecond},
		ReadsPerHandoff: fewAndMany{few.ReadsPerHandoff, many.ReadsPerHandoff},
	}
}

// figuresOf are those that were seen from outside. What has not happened counts as the whole time.
func figuresOf(all []seen, taken span) layoutFigures {
	f := layoutFigures{Migrations: len(all), Seconds: taken.end.Sub(taken.begin).Seconds()}
	since := func(begin, at time.Time) float64 {
		if at.IsZero() {
			at = taken.end
		}
		return at.Sub(begin).Seconds()
	}
	f.FirstStopSeconds = f.Seconds
	var durations []float64
	for _, one := range all {
		f.Arrived += int(one.moved)
		if one.isCompleted() {
			f.Completed++
		}
		f.FirstStopSeconds = min(f.FirstStopSeconds, since(taken.begin, one.stopped))
		f.SilentSeconds = max(f.SilentSeconds, since(one.created, one.spoke))
		durations = append(durations, since(one.created, one.completed))
	}
	f.PerSecond = float64(f.Arrived) / f.Seconds
	f.PerSecondOverTime = overTime(all, taken)
	took := measure.SpreadOf(durations)
	f.Fairness = took.Max / took.Median
	return f
}

// interval is what arrivals are counted in, to see whether many become slower.
const interval = 30 * time.Second

func overTime(all []seen, taken span) []float64 {
	rates := make([]float64, (taken.end.Sub(taken.begin)+interval-1)/interval)
	for _, one := range all {
		for _, at := range one.arrivals {
			if i := int(at.Sub(taken.begin) / interval); i >= 0 && i < len(rates) {
				rates[i] += 1 / min(interval, taken.end.Sub(taken.begin.Add(time.Duration(i)*interval))).Seconds()
			}
		}
	}
	return rates
}

// takeUsage fills in what the manager has used for it.
func (f *layoutFigures) takeUsage(before, after usage) {
	sent, other := after.sent.Sub(before.sent), after.apart.sub(before.apart)
	f.ReadsPerHandoff = measure.Share(sent.Reads-other.watches, f.Arrived)
	f.WritesPerHandoff = measure.Share(sent.Writes-other.reviews-other.dryRuns, f.Arrived)
	f.RefusedPerHandoff = measure.Share(sent.Refused, f.Arrived)
	f.WatchesPerHandoff = measure.Share(other.watches, f.Arrived)
	f.ReviewsPerHandoff = measure.Share(other.reviews, f.Arrived)
	f.DryRunsPerHandoff = measure.Share(other.dryRuns, f.Arrived)
	f.RequestsPerSecond = float64(sent.Reads+sent.Writes) / f.Seconds
	f.CPUSeconds = after.cpu - before.cpu
}

// plausible says what is wrong with the counting once something was moved.
func (u usage) plausible() error {
	switch {
	case u.sent.Writes == 0:
		return errors.New("the manager counts no writes although it has moved an application")
	case u.apart.watches == 0 || u.apart.reviews == 0 || u.apart.dryRuns == 0:
		return errors.New("the API servers count no watches, no access reviews or no dry runs of the manager although it has moved an application")
	}
	return nil
}

// secondsPerHandoff are from the first stop of one move to its last arrival.
func (s seen) secondsPerHandoff() float64 {
	return s.arrived.Sub(s.stopped).Seconds() / float64(s.replicas)
}
