package flags

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	windows "github.com/sliceshift/sliceshift/migration/schedule"
)

// schedule holds the flags that define when handoffs may begin.
type schedule struct {
	windows             []string
	timeZone            string
	notBefore, notAfter string
	expected            *int32
}

// Names of flags of a schedule.
const (
	flagWindow    = "window"
	flagTimeZone  = "time-zone"
	flagNotBefore = "not-before"
	flagNotAfter  = "not-after"
	flagExpected  = "expected-handoff"
)

func (f *schedule) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.windows, flagWindow, nil, "ordinals are stopped in this window only, as `START/DURATION` (repeatable); START is \"22:00\", \"Sat,Sun 22:00\" or five fields of cron")
	flags.StringVar(&f.timeZone, flagTimeZone, "", "time zone of the windows, as Europe/Berlin (default: UTC)")
	flags.StringVar(&f.notBefore, flagNotBefore, "", "no ordinal is stopped before this `TIME`, as 2006-01-02T15:04:05Z, or \"2006-01-02 15:04\" in the time zone")
	flags.StringVar(&f.notAfter, flagNotAfter, "", "no ordinal is stopped whose handoff would end after this `TIME`")
	flags.Var(secondsOf(&f.expected, flagExpected, 1, longestDeadline), flagExpected, "how long one handoff takes: none begins that does not fit into its window (default: as long as the longest so far, at least 1m)")
}

// any reports whether a flag of the schedule is set.
func (f *schedule) any(given func(string) bool) bool {
	return given(flagWindow) || given(flagTimeZone) || given(flagNotBefore) || given(flagNotAfter) || given(flagExpected)
}

// spec returns the schedule of the flags, or nil if none is set. An empty --window means a schedule without windows.
func (f *schedule) spec(given func(string) bool) (*api.ScheduleSpec, error) {
	if !f.any(given) {
		return nil, nil //nolint:nilnil // nil is the API's "at any time"
	}
	zone, err := windows.Zone(f.timeZone)
	if err != nil {
		return nil, command.Usagef("--%s: %v", flagTimeZone, err)
	}
	spec := &api.ScheduleSpec{TimeZone: f.timeZone, ExpectedHandoffSeconds: f.expected}
	if spec.NotBefore, err = timeFlag(flagNotBefore, f.notBefore, zone); err != nil {
		return nil, err
	}
	if spec.NotAfter, err = timeFlag(flagNotAfter, f.notAfter, zone); err != nil {
		return nil, err
	}
	for _, text := range f.windows {
		if text == "" && len(f.windows) == 1 {
			break
		}
		window, err := windowFlag(text)
		if err != nil {
			return nil, err
		}
		spec.Windows = append(spec.Windows, window)
	}
	if problem := windows.Of(spec).Problem(); problem != "" {
		return nil, command.Usagef("--%s: %s", flagWindow, problem)
	}
	return spec, nil
}

// windowFlag parses START/DURATION.
func windowFlag(text string) (window api.Window, err error) {
	at := strings.LastIndex(text, "/")
	if at < 0 {
		return window, command.Usagef("--%s must be START/DURATION, as \"Sat,Sun 22:00/4h\", not %q", flagWindow, text)
	}
	if window.Duration.Duration, err = time.ParseDuration(text[at+1:]); err != nil {
		return window, command.Usagef("--%s must be START/DURATION, as \"Sat,Sun 22:00/4h\": %v", flagWindow, err)
	}
	switch words := strings.Fields(text[:at]); {
	case len(words) == 1 && strings.Contains(words[0], ":"):
		window.From = words[0]
	case len(words) == 2 && strings.Contains(words[1], ":"):
		window.From = words[1]
		if window.Days, err = daysFlag(words[0]); err != nil {
			return window, err
		}
	default:
		window.Start = strings.Join(words, " ")
	}
	return window, nil
}

// weekdays are the weekdays in the spelling of the API.
var weekdays = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// daysFlag parses weekdays separated by commas.
func daysFlag(text string) (days []api.Weekday, err error) {
	for day := range strings.SplitSeq(text, ",") {
		at := slices.IndexFunc(weekdays, func(known string) bool { return strings.EqualFold(known, day) })
		if at < 0 {
			return nil, command.Usagef("--%s: %q is not a day: it is one of %s, with commas between several", flagWindow, day, strings.Join(weekdays, ", "))
		}
		days = append(days, api.Weekday(weekdays[at]))
	}
	return days, nil
}

// timeFlag parses a time. The given zone applies if the text names none.
func timeFlag(flag, text string, zone *time.Location) (*metav1.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nil is the API's "no bound"
	}
	read, err := time.Parse(time.RFC3339, text)
	if err != nil {
		read, err = time.ParseInLocation("2006-01-02 15:04", text, zone)
	}
	if err != nil {
		return nil, command.Usagef("--%s must be a time as 2026-11-28T22:00:00Z, or \"2026-11-28 22:00\" in the time zone, not %q", flag, text)
	}
	return new(metav1.NewTime(read)), nil
}
