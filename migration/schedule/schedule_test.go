package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// at returns a time in Berlin.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	zone, err := Zone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := time.ParseInLocation("2006-01-02 15:04:05", text+":00"[:3*(2-strings.Count(text, ":"))], zone)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func cronned(start string, d time.Duration) api.Window {
	return api.Window{Start: start, Duration: metav1.Duration{Duration: d}}
}

func daily(from string, d time.Duration, days ...api.Weekday) api.Window {
	return api.Window{From: from, Days: days, Duration: metav1.Duration{Duration: d}}
}

func berlin(windows ...api.Window) *api.ScheduleSpec {
	return &api.ScheduleSpec{TimeZone: "Europe/Berlin", Windows: windows}
}

func moment(t testing.TB, text string) *metav1.Time { return new(metav1.NewTime(at(t, text))) }

func TestNone(t *testing.T) {
	if Of(nil) != nil {
		t.Error("there is none")
	}
}

// TestInvalid: under an invalid schedule nothing begins, and the error is reported.
func TestInvalid(t *testing.T) {
	for name, tc := range map[string]struct {
		spec *api.ScheduleSpec
		want string
	}{
		"no such zone":         {&api.ScheduleSpec{TimeZone: "Europe/Atlantis"}, `timeZone "Europe/Atlantis"`},
		"the zone of here":     {&api.ScheduleSpec{TimeZone: "Local"}, `timeZone "Local"`},
		"a path":               {&api.ScheduleSpec{TimeZone: "../etc/passwd"}, "timeZone"},
		"no cron":              {berlin(cronned("at night", time.Hour)), `windows[0]: start "at night"`},
		"six fields":           {berlin(cronned("0 0 22 * * *", time.Hour)), "windows[0]"},
		"a zone of its own":    {berlin(cronned("TZ=UTC 0 22 * * *", time.Hour)), "five fields"},
		"half a zone":          {berlin(cronned("TZ=", time.Hour)), "five fields"},
		"an interval":          {berlin(cronned("@every 1h", time.Hour)), "five fields"},
		"nothing":              {berlin(cronned("", time.Hour)), "windows[0]"},
		"no hour":              {berlin(daily("25:00", time.Hour)), `from "25:00"`},
		"both":                 {berlin(api.Window{Start: "0 1 * * *", From: "22:00", Duration: metav1.Duration{Duration: time.Hour}}), "without start"},
		"no duration":          {berlin(daily("22:00", 0)), "duration 0s"},
		"too long":             {berlin(daily("22:00", 169*time.Hour)), "duration 169h0m0s"},
		"the second one of it": {berlin(daily("22:00", time.Hour), daily("22:00", time.Second)), "windows[1]"},
	} {
		s := Of(tc.spec)
		if !strings.Contains(s.Problem(), tc.want) {
			t.Errorf("%s: problem %q, want %q", name, s.Problem(), tc.want)
		}
		if got := s.At(at(t, "2026-11-28 22:30"), time.Minute); got.Verdict != Never {
			t.Errorf("%s: %+v", name, got)
		}
		if shares, left := s.Forecast(at(t, "2026-11-28 22:30"), time.Minute, 3); shares != nil || left != 3 {
			t.Errorf("%s: %v", name, shares)
		}
	}
}

// TestAt: a handoff begins in an open window into which it fits; otherwise the answer has the next time at which
// it may.
func TestAt(t *testing.T) {
	weekend := berlin(daily("22:00", 4*time.Hour, "Sat", "Fri")) // 2026-11-27 is a Friday
	bounded := func(before, after string, windows ...api.Window) *api.ScheduleSpec {
		s := berlin(windows...)
		if before != "" {
			s.NotBefore = moment(t, before)
		}
		if after != "" {
			s.NotAfter = moment(t, after)
		}
		return s
	}
	for name, tc := range map[string]struct {
		spec          *api.ScheduleSpec
		now           string
		needs         time.Duration
		verdict       Verdict
		opens, closes string
	}{
		"nothing is asked for":             {berlin(), "2026-11-27 12:00", time.Hour, Open, "", ""},
		"before it":                        {weekend, "2026-11-27 21:59", time.Hour, Closed, "2026-11-27 22:00", "2026-11-28 02:00"},
		"when it opens":                    {weekend, "2026-11-27 22:00", time.Hour, Open, "2026-11-27 22:00", "2026-11-28 02:00"},
		"U-24: after midnight":             {weekend, "2026-11-28 00:30", time.Hour, Open, "2026-11-27 22:00", "2026-11-28 02:00"},
		"it just fits":                     {weekend, "2026-11-28 01:00", time.Hour, Open, "2026-11-27 22:00", "2026-11-28 02:00"},
		"U-24: it just does not":           {weekend, "2026-11-28 01:00:01", time.Hour, Short, "2026-11-28 22:00", "2026-11-29 02:00"},
		"when it closes":                   {weekend, "2026-11-28 02:00", time.Minute, Closed, "2026-11-28 22:00", "2026-11-29 02:00"},
		"as long as a window":              {weekend, "2026-11-27 21:00", 4 * time.Hour, Closed, "2026-11-27 22:00", "2026-11-28 02:00"},
		"U-24: longer than any":            {weekend, "2026-11-27 23:00", 4*time.Hour + 1, TooShort, "2026-11-28 22:00", "2026-11-29 02:00"},
		"a week between":                   {weekend, "2026-11-29 02:00", time.Hour, Closed, "2026-12-04 22:00", "2026-12-05 02:00"},
		"by cron":                          {berlin(cronned("30 2 1 * *", time.Hour)), "2026-11-27 12:00", time.Minute, Closed, "2026-12-01 02:30", "2026-12-01 03:30"},
		"a day that never comes":           {berlin(cronned("0 0 30 2 *", time.Hour)), "2026-11-27 12:00", time.Minute, Never, "", ""},
		"two that touch":                   {berlin(daily("22:00", 2*time.Hour), daily("00:00", 2*time.Hour)), "2026-11-27 23:00", 3 * time.Hour, Open, "2026-11-27 22:00", "2026-11-28 02:00"},
		"U-24: two that overlap":           {berlin(daily("22:00", 3*time.Hour), daily("23:00", time.Hour)), "2026-11-27 23:30", time.Hour, Open, "2026-11-27 22:00", "2026-11-28 01:00"},
		"one in the other":                 {berlin(daily("22:00", time.Hour), daily("22:10", 2*time.Minute)), "2026-11-27 22:30", 20 * time.Minute, Open, "2026-11-27 22:00", "2026-11-27 23:00"},
		"the longer one is the next":       {berlin(daily("12:00", 10*time.Minute), daily("22:00", time.Hour)), "2026-11-27 11:00", time.Hour, Closed, "2026-11-27 22:00", "2026-11-27 23:00"},
		"every minute":                     {berlin(cronned("* * * * *", time.Minute)), "2026-11-27 12:00", 30 * time.Hour, Open, "2026-11-27 12:00", "2026-12-05 18:00"},
		"not yet":                          {bounded("2026-12-01 10:00", ""), "2026-11-27 12:00", time.Hour, Closed, "2026-12-01 10:00", ""},
		"from now on":                      {bounded("2026-12-01 10:00", ""), "2026-12-01 10:00", time.Hour, Open, "2026-12-01 10:00", ""},
		"in the midst of a window":         {bounded("2026-11-27 23:00", "", weekend.Windows...), "2026-11-27 22:30", time.Hour, Closed, "2026-11-27 23:00", "2026-11-28 02:00"},
		"not any more":                     {bounded("", "2026-11-27 12:00"), "2026-11-27 12:00", time.Second, Never, "", ""},
		"not any more, in a window":        {bounded("", "2026-11-27 22:30", weekend.Windows...), "2026-11-27 22:30", time.Second, Never, "", ""},
		"no more than that":                {bounded("", "2026-11-27 12:00"), "2026-11-27 11:00", time.Hour, Open, "", "2026-11-27 12:00"},
		"less than that":                   {bounded("", "2026-11-27 12:00"), "2026-11-27 11:30", time.Hour, Never, "", ""},
		"the last one is cut":              {bounded("", "2026-11-27 22:30", weekend.Windows...), "2026-11-27 12:00", time.Hour, TooShort, "2026-11-27 22:00", "2026-11-27 22:30"},
		"it is over before a window opens": {bounded("", "2026-11-27 21:00", weekend.Windows...), "2026-11-27 12:00", time.Hour, Never, "", ""},
		"the end before the beginning":     {bounded("2026-12-01 10:00", "2026-11-30 10:00"), "2026-11-27 12:00", time.Hour, Never, "", ""},

		// Clocks are set forward on 2026-03-29 at 02:00, and back on 2026-10-25 at 03:00.
		"it spans the hour that is left out":  {berlin(daily("01:00", 3*time.Hour)), "2026-03-29 00:30", time.Hour, Closed, "2026-03-29 01:00", "2026-03-29 05:00"},
		"it would open in that hour":          {berlin(daily("02:30", time.Hour)), "2026-03-29 00:30", time.Hour, Closed, "2026-03-30 02:30", "2026-03-30 03:30"},
		"it spans the hour that comes twice":  {berlin(daily("01:00", 3*time.Hour)), "2026-10-25 00:30", time.Hour, Closed, "2026-10-25 01:00", "2026-10-25 03:00"},
		"it opens in that hour, the first":    {berlin(daily("02:30", time.Hour)), "2026-10-25 00:30", time.Hour, Closed, "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"},
		"and not the second":                  {berlin(daily("02:30", time.Hour)), "2026-10-25T02:31:00+01:00", time.Hour, Closed, "2026-10-26 02:30", "2026-10-26 03:30"},
		"where an hour is half of one, first": {&api.ScheduleSpec{TimeZone: "Australia/Lord_Howe", Windows: []api.Window{daily("01:45", 10*time.Minute)}}, "2026-04-04T14:00:00Z", time.Minute, Closed, "2026-04-04T14:45:00Z", "2026-04-04T14:55:00Z"},
		"where an hour is half of one, then":  {&api.ScheduleSpec{TimeZone: "Australia/Lord_Howe", Windows: []api.Window{daily("01:45", 10*time.Minute)}}, "2026-04-04T15:00:00Z", time.Minute, Closed, "2026-04-05T15:15:00Z", "2026-04-05T15:25:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(text string) time.Time {
				if text == "" {
					return time.Time{}
				}
				if parsed, err := time.Parse(time.RFC3339, text); err == nil {
					return parsed
				}
				return at(t, text)
			}
			s := Of(tc.spec)
			got := s.At(read(tc.now), tc.needs)
			if s.Problem() != "" || got.Verdict != tc.verdict || !got.Slot.Opens.Equal(read(tc.opens)) || !got.Slot.Closes.Equal(read(tc.closes)) {
				t.Errorf("%q: %s %s to %s, want %s", s.Problem(), got.Verdict, s.Text(got.Slot.Opens), s.Text(got.Slot.Closes), tc.verdict)
			}
			if (got.Now != Slot{}) != (tc.verdict == Short) {
				t.Errorf("the window that is too short now: %+v", got.Now)
			}
		})
	}
}

func TestText(t *testing.T) {
	s := Of(&api.ScheduleSpec{TimeZone: "Europe/Berlin", ExpectedHandoffSeconds: new(int32(90))})
	if got, want := s.Text(time.Date(2026, 11, 28, 21, 0, 0, 0, time.UTC)), "Sat 2026-11-28 22:00 CET"; got != want {
		t.Errorf("got %q", got)
	}
	if s.Expected() != 90*time.Second {
		t.Errorf("got %s", s.Expected())
	}
}

// TestForecast: how many ordinals fit into which windows.
func TestForecast(t *testing.T) {
	now := at(t, "2026-11-27 22:30")
	nightly := Of(berlin(daily("22:00", time.Hour)))
	slot := func(opens, closes string) Slot { return Slot{at(t, opens), at(t, closes)} }
	for name, tc := range map[string]struct {
		s     *Schedule
		needs time.Duration
		n     int32
		want  []Share
		left  int32
	}{
		"what is left of this one, and the next": {nightly, 20 * time.Minute, 3, []Share{
			{slot("2026-11-27 22:00", "2026-11-27 23:00"), 1}, {slot("2026-11-28 22:00", "2026-11-28 23:00"), 2},
		}, 0},
		"not this one any more": {nightly, 40 * time.Minute, 1, []Share{{slot("2026-11-28 22:00", "2026-11-28 23:00"), 1}}, 0},
		"none of them":          {nightly, 2 * time.Hour, 3, nil, 3},
		"always":                {Of(berlin()), time.Hour, 7, []Share{{Slot{}, 7}}, 0},
		"nothing is left":       {nightly, time.Minute, 0, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, left := tc.s.Forecast(now, tc.needs, tc.n)
			if diff := cmp.Diff(tc.want, got, cmp.Comparer(time.Time.Equal)); diff != "" || left != tc.left {
				t.Errorf("left %d, shares (-want +got):\n%s", left, diff)
			}
		})
	}
	if got, left := nightly.Forecast(now, time.Hour, 100); len(got) != shares || left != 80 {
		t.Errorf("%d slots, %d left", len(got), left)
	}
}

// schedules generates valid schedules.
func schedules() *rapid.Generator[*api.ScheduleSpec] {
	days := []api.Weekday{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	zones := []string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia", "America/St_Johns"}
	return rapid.Custom(func(t *rapid.T) *api.ScheduleSpec {
		s := &api.ScheduleSpec{TimeZone: rapid.SampledFrom(zones).Draw(t, "zone")}
		for range rapid.IntRange(0, 3).Draw(t, "windows") {
			w := api.Window{Duration: metav1.Duration{Duration: time.Duration(rapid.IntRange(1, 600).Draw(t, "minutes")) * time.Minute}}
			if rapid.Bool().Draw(t, "cron") {
				w.Start = rapid.SampledFrom([]string{"0 22 * * *", "*/30 * * * *", "15 1-3 * * 1-5", "0 0 1 * *", "30 2 * * 0", "0 0 30 2 *"}).Draw(t, "start")
			} else {
				w.From = rapid.StringMatching(`([01][0-9]|2[0-3]):[0-5][0-9]`).Draw(t, "from")
				w.Days = rapid.SliceOfNDistinct(rapid.SampledFrom(days), 0, 3, rapid.ID).Draw(t, "days")
			}
			s.Windows = append(s.Windows, w)
		}
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		if rapid.Bool().Draw(t, "from some time on") {
			s.NotBefore = new(metav1.NewTime(begin.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "not before")) * 24 * time.Hour)))
		}
		if rapid.Bool().Draw(t, "up to some time") {
			s.NotAfter = new(metav1.NewTime(begin.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "not after")) * 24 * time.Hour)))
		}
		return s
	})
}

// inside reports whether windows and limits allow a handoff to be in flight at a time. It evaluates the schedule's
// text minute by minute, as a second, simpler implementation.
func inside(s *Schedule, t time.Time) bool {
	if t.Before(s.notBefore) || !s.notAfter.IsZero() && t.After(s.notAfter) {
		return false
	}
	for _, w := range s.windows {
		for opens := w.after(t.Add(-w.duration - time.Second)); !opens.IsZero() && !opens.After(t); opens = w.after(opens) {
			if !t.After(opens.Add(w.duration)) {
				return true
			}
		}
	}
	return len(s.windows) == 0
}

// TestHandoffsStayInside: a handoff that may begin is inside a window from its beginning to its end. The reported
// next opening is one, is in the future, and nothing may begin before it.
func TestHandoffsStayInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Of(schedules().Draw(t, "schedule"))
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 700*24*3600).Draw(t, "now")) * time.Second)
		needs := time.Duration(rapid.IntRange(1, 8*3600).Draw(t, "needs")) * time.Second
		answer := s.At(now, needs)
		switch answer.Verdict {
		case Open:
			for _, part := range []float64{0, 0.25, 0.5, 0.75, 1} {
				if moment := now.Add(time.Duration(part * float64(needs))); !inside(s, moment) {
					t.Fatalf("it may begin, and %s is outside", moment)
				}
			}
		case Closed, Short:
			opens := answer.Slot.Opens
			if !opens.After(now) || s.At(opens, needs).Verdict != Open {
				t.Fatalf("at %s it may not begin: %+v", opens, s.At(opens, needs))
			}
			if between := now.Add(opens.Sub(now) / 2); between.Before(opens) && s.At(between, needs).Verdict == Open {
				t.Fatalf("it may begin before, at %s", between)
			}
		case TooShort:
			if again := s.At(answer.Slot.Opens, needs); again.Verdict == Open {
				t.Fatalf("it fits at %s", answer.Slot.Opens)
			}
			if answer.Slot.length() >= needs {
				t.Fatalf("a window of %s is long enough", answer.Slot.length())
			}
		case Never:
			if soon := s.At(now.Add(time.Hour), needs); soon.Verdict == Open {
				t.Fatal("it may begin an hour later")
			}
		}
	})
}

// TestLessTimeIsNoWorse: a shorter handoff may begin whenever a longer one may.
func TestLessTimeIsNoWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Of(schedules().Draw(t, "schedule"))
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 700*24*60).Draw(t, "now")) * time.Minute)
		less := time.Duration(rapid.IntRange(1, 300).Draw(t, "less")) * time.Minute
		more := less + time.Duration(rapid.IntRange(0, 300).Draw(t, "more"))*time.Minute
		if s.At(now, more).Verdict == Open && s.At(now, less).Verdict != Open {
			t.Fatal("only the longer one may begin")
		}
		short, _ := s.Forecast(now, less, 10)
		for _, share := range short {
			from := share.Slot.Opens
			if from.Before(now) {
				from = now
			}
			if !share.Slot.Fits(from, less*time.Duration(share.Ordinals)) {
				t.Fatalf("%d do not fit into %+v", share.Ordinals, share.Slot)
			}
		}
	})
}
