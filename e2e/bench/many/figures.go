package many

import (
	"errors"
	"time"

	"github.com/sliceshift/sliceshift/e2e/measure"
)

// figures are the measurements of a run, as written to the file.
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
	// Further is the cost of a handoff without the start and the end of its Migration: the additional requests of
	// Longer over Few, divided by its additional handoffs.
	Further furtherFigures `json:"further_handoff"`
}

// contenderFigures are the measurements of one StatefulSet that moves alone.
type contenderFigures struct {
	// PerSecond is in ordinals.
	PerSecond float64 `json:"per_second"`
	// SecondsPerHandoff is the time from the first ordinal's stop to the last ordinal's arrival, observed from outside
	// and divided by the number of ordinals.
	SecondsPerHandoff float64 `json:"seconds_per_handoff"`
	ReadsPerHandoff   float64 `json:"reads_per_handoff"`
	WritesPerHandoff  float64 `json:"writes_per_handoff"`
}

// aloneFigures are those of the command, and within it those of the manager; medians of the rounds.
type aloneFigures struct {
	contenderFigures
	Manager            managerFigures `json:"manager"`
	ManagerOverCommand float64        `json:"manager_over_command"`
	Ordinals           int            `json:"ordinals"`
	Rounds             int            `json:"rounds"`
}

// managerFigures are the measurements of the manager with one Migration.
type managerFigures struct {
	contenderFigures
	// SecondsPerOrdinal is the time from the creation of the Migration to its completion.
	SecondsPerOrdinal float64 `json:"seconds_per_ordinal"`
	PeakMiB           float64 `json:"peak_mib"`
	CPUSeconds        float64 `json:"cpu_seconds"`
}

// layoutFigures are the measurements of many concurrent Migrations.
type layoutFigures struct {
	// PerSecond is the number of arrived handoffs divided by the time from the first Migration's creation to the last
	// Migration's completion.
	PerSecond         float64 `json:"per_second"`
	ReadsPerHandoff   float64 `json:"reads_per_handoff"`
	WritesPerHandoff  float64 `json:"writes_per_handoff"`
	RefusedPerHandoff float64 `json:"refused_writes_per_handoff"`
	WatchesPerHandoff float64 `json:"watches_per_handoff"`
	// ReviewsPerHandoff are access reviews; they do not count as writes.
	ReviewsPerHandoff float64 `json:"reviews_per_handoff"`
	// DryRunsPerHandoff are dry-run writes; they do not count as writes.
	DryRunsPerHandoff float64 `json:"dry_runs_per_handoff"`
	// RequestsPerSecond is the sum of all of these.
	RequestsPerSecond float64 `json:"requests_per_second"`
	// FirstStopSeconds is the time from the first Migration's creation to the first stop of any ordinal.
	FirstStopSeconds float64 `json:"first_stop_seconds"`
	// SilentSeconds is the longest time that a Migration had no condition.
	SilentSeconds float64 `json:"silent_seconds"`
	// PerSecondOverTime is the number of handoffs a second in each interval of 30 s.
	PerSecondOverTime []float64 `json:"per_second_over_time"`
	// Fairness is the slowest Migration's time divided by the median.
	Fairness   float64 `json:"fairness"`
	PeakMiB    float64 `json:"peak_mib"`
	CPUSeconds float64 `json:"cpu_seconds"`

	Migrations int     `json:"migrations"`
	Ordinals   int     `json:"ordinals"`
	Completed  int     `json:"completed"`
	Arrived    int     `json:"arrived"`
	Seconds    float64 `json:"seconds"`
}

// growthFigures compare few Migrations in one namespace with all of them.
type growthFigures struct {
	Migrations      fewAndMany `json:"migrations"`
	PerSecond       fewAndMany `json:"per_second"`
	ReadsPerHandoff fewAndMany `json:"reads_per_handoff"`
	CPUPerHandoff   fewAndMany `json:"cpu_seconds_per_handoff"`
}

type furtherFigures struct {
	Reads  float64 `json:"reads"`
	Writes float64 `json:"writes"`
}

type fewAndMany struct {
	Few  float64 `json:"few"`
	Many float64 `json:"many"`
}

// measured reports whether the layout was measured.
func (f layoutFigures) measured() bool { return f.Migrations > 0 }

// cpuPerHandoff returns the manager's processor time for each handoff, in seconds.
func (f layoutFigures) cpuPerHandoff() float64 { return f.CPUSeconds / float64(max(1, f.Arrived)) }

// compare fills in the figures that derive from several parts.
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
		CPUPerHandoff:   fewAndMany{few.cpuPerHandoff(), many.cpuPerHandoff()},
	}
}

// figuresOf returns the figures that were observed from outside. An event that has not happened counts as the whole
// time.
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

// interval is the length of the intervals in which arrivals are counted, to show whether many Migrations become
// slower.
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

// takeUsage fills in the usage of the manager.
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

// plausible returns an error if the counts cannot be right after a move.
func (u usage) plausible() error {
	switch {
	case u.sent.Writes == 0:
		return errors.New("the manager counts no writes although it has moved an application")
	case u.apart.watches == 0 || u.apart.reviews == 0 || u.apart.dryRuns == 0:
		return errors.New("the API servers count no watches, no access reviews or no dry runs of the manager although it has moved an application")
	}
	return nil
}

// secondsPerHandoff returns the time from the first stop of one move to its last arrival, per handoff.
func (s seen) secondsPerHandoff() float64 {
	return s.arrived.Sub(s.stopped).Seconds() / float64(s.replicas)
}
