// Package schedule decides when a handoff may begin: in recurring windows in a time zone, from a start time up to
// an end time. The result is a function of the schedule, the time, and the expected duration of a handoff.
package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a machine may have no zones, or old ones

	"github.com/robfig/cron/v3"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Schedule is the parsed form of the user's schedule. It is immutable.
type Schedule struct {
	zone                *time.Location
	notBefore, notAfter time.Time
	windows             []window
	// expected is the user's estimate of a handoff's duration; 0: there is none.
	expected time.Duration
	problem  string
}

// window is a recurring window.
type window struct {
	opens    cron.Schedule
	zone     *time.Location
	duration time.Duration
}

// Limits of a window's duration.
const (
	shortest = time.Minute
	longest  = 7 * 24 * time.Hour
)

// Of parses a schedule; nil: there is none. An error is kept as its Problem, since nothing may begin based on an
// incomplete schedule.
func Of(spec *api.ScheduleSpec) *Schedule {
	if spec == nil {
		return nil
	}
	s := &Schedule{zone: time.UTC}
	if err := s.read(spec); err != nil {
		s.problem = err.Error()
	}
	return s
}

func (s *Schedule) read(spec *api.ScheduleSpec) error {
	zone, err := Zone(spec.TimeZone)
	if err != nil {
		return err
	}
	s.zone = zone
	if spec.NotBefore != nil {
		s.notBefore = spec.NotBefore.Time
	}
	if spec.NotAfter != nil {
		s.notAfter = spec.NotAfter.Time
	}
	if spec.ExpectedHandoffSeconds != nil {
		s.expected = time.Duration(*spec.ExpectedHandoffSeconds) * time.Second
	}
	for i, each := range spec.Windows {
		w, err := windowOf(each, zone)
		if err != nil {
			return fmt.Errorf("windows[%d]: %w", i, err)
		}
		s.windows = append(s.windows, w)
	}
	return nil
}

// Zone returns a time zone by its IANA name; empty: UTC. The machine's local zone is rejected, because it differs
// between machines.
func Zone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == time.Local.String() {
		return nil, fmt.Errorf("timeZone %q is not the name of a time zone, as Europe/Berlin is one", name)
	}
	return zone, nil
}

func windowOf(spec api.Window, zone *time.Location) (window, error) {
	text := spec.Start
	if spec.From != "" {
		from, err := time.Parse("15:04", spec.From)
		if err != nil || spec.Start != "" {
			return window{}, fmt.Errorf("from %q: it must be hours and minutes, as 22:30, and without start", spec.From)
		}
		days := "*"
		if len(spec.Days) > 0 {
			days = joined(spec.Days)
		}
		text = fmt.Sprintf("%d %d * * %s", from.Minute(), from.Hour(), days)
	}
	// A time zone or an interval in the expression would not refer to the schedule's zone.
	if strings.ContainsAny(text, "=@") {
		return window{}, fmt.Errorf("start %q: it must be the five fields of cron", text)
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return window{}, fmt.Errorf("start %q: %w", text, err)
	}
	if d := spec.Duration.Duration; d < shortest || d > longest {
		return window{}, fmt.Errorf("duration %s: it must be from %s to %s", d, shortest, longest)
	}
	return window{parsed, zone, spec.Duration.Duration}, nil
}

func joined(days []api.Weekday) string {
	texts := make([]string, 0, len(days))
	for _, day := range days {
		texts = append(texts, string(day))
	}
	slices.Sort(texts)
	return strings.Join(texts, ",")
}

// Problem returns the error in the schedule; empty: there is none.
func (s *Schedule) Problem() string { return s.problem }

// Expected returns the user's estimate of a handoff's duration; 0: there is none.
func (s *Schedule) Expected() time.Duration { return s.expected }

// Text formats a time in the schedule's zone.
func (s *Schedule) Text(t time.Time) string { return t.In(s.zone).Format("Mon 2006-01-02 15:04 MST") }
