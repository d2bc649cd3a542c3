package evacuation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// held returns a Migration as its author creates it.
func held() Migration { return Migration{Ours: true, Held: true, Mode: api.ModePause} }

// of returns a Migration with a change.
func of(change func(*Migration)) Migration {
	m := held()
	change(&m)
	return m
}

var (
	moving = of(func(m *Migration) { m.Held, m.Mode, m.Begun = false, api.ModeRun, true })
	moved  = of(func(m *Migration) { m.Held, m.Mode, m.Begun, m.Completed = false, api.ModeRun, true, api.ReasonMoved })
)

// entries parses entries such as "web@x:db,cache", which is of wave 1.
func entries(texts ...string) (all []api.EvacuatedMigration) {
	for _, text := range texts {
		name, after, more := strings.Cut(text, ":")
		name, wave, _ := strings.Cut(name, "@")
		entry := api.EvacuatedMigration{Name: name, Wave: int32(len(wave))} // web@xx is of wave 2
		if more {
			entry.After = strings.Split(after, ",")
		}
		all = append(all, entry)
	}
	return all
}

func TestDecide(t *testing.T) {
	stalled := of(func(m *Migration) { m.Held, m.Mode, m.Begun, m.Stalled = false, api.ModeRun, true, "BudgetZero: none" })
	byUser := of(func(m *Migration) { m.Held, m.Begun = false, true })
	automatic := of(func(m *Migration) { m.Held, m.Mode, m.Begun, m.Fixed = false, api.ModeRun, true, true })
	for name, tc := range map[string]struct {
		mode    api.EvacuationMode
		most    int32
		entries []api.EvacuatedMigration
		found   map[string]Migration
		want    string
	}{
		"the first begins":                      {"", 0, entries("db", "web:db"), map[string]Migration{"db": held(), "web": held()}, "db Run false [db Waiting, web Waiting]"},
		"the second waits":                      {"", 0, entries("db", "web:db"), map[string]Migration{"db": moving, "web": held()}, "none [db Moving, web Waiting]"},
		"the second begins":                     {"", 0, entries("db", "web:db"), map[string]Migration{"db": moved, "web": held()}, "web Run false [db Moved, web Waiting]"},
		"a stalled one holds what comes after":  {"", 0, entries("db", "web:db", "app:web", "cache"), map[string]Migration{"db": stalled, "web": held(), "app": held(), "cache": held()}, "cache Run false [db Stalled, web Held, app Held, cache Waiting]"},
		"as many as may":                        {"", 1, entries("db", "cache"), map[string]Migration{"db": moving, "cache": held()}, "none [db Moving, cache Waiting]"},
		"a stalled one takes no place":          {"", 1, entries("db", "cache"), map[string]Migration{"db": stalled, "cache": held()}, "cache Run false [db Stalled, cache Waiting]"},
		"a missing one":                         {"", 0, entries("db", "web:db"), map[string]Migration{"web": held()}, "none [db Missing, web Held]"},
		"one without the label":                 {"", 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Ours = false })}, "none [db Missing]"},
		"a user has paused it":                  {"", 0, entries("db", "web:db"), map[string]Migration{"db": byUser, "web": held()}, "none [db Paused, web Held]"},
		"a user has resumed it":                 {"", 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Mode = api.ModeRun })}, "db Run false [db Moving]"},
		"a user rolls it back":                  {"", 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Mode, m.Begun, m.Held = api.ModeRollback, true, false })}, "none [db RollingBack]"},
		"it is back":                            {"", 0, entries("db", "web:db"), map[string]Migration{"db": of(func(m *Migration) { m.Mode, m.Completed = api.ModeRollback, api.ReasonRolledBack }), "web": held()}, "none [db Back, web Held]"},
		"a circle":                              {"", 0, entries("a:b", "b:a", "c:a", "d"), map[string]Migration{"a": held(), "b": held(), "c": held(), "d": held()}, "d Run false [a Held, b Held, c Held, d Waiting]"},
		"after itself":                          {"", 0, entries("a:a"), map[string]Migration{"a": held()}, "none [a Held]"},
		"a later wave waits":                    {"", 0, entries("a", "b@x", "c@xx"), map[string]Migration{"a": moving, "b": held(), "c": held()}, "none [a Moving, b Waiting, c Waiting]"},
		"a later wave begins":                   {"", 0, entries("a", "b@x", "c@xx"), map[string]Migration{"a": moved, "b": held(), "c": held()}, "b Run false [a Moved, b Waiting, c Waiting]"},
		"a wave against the order":              {"", 0, entries("a:b", "b@x"), map[string]Migration{"a": held(), "b": held()}, "none [a Held, b Held]"},
		"after one that is not listed":          {"", 0, entries("a:x"), map[string]Migration{"a": held(), "x": moved}, "none [a Held]"},
		"paused":                                {api.EvacuationPause, 0, entries("db", "web"), map[string]Migration{"db": moving, "web": held()}, "db Pause true [db Moving, web Paused]"},
		"paused, and one is being rolled back":  {api.EvacuationPause, 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Mode, m.Begun, m.Held = api.ModeRollback, true, false })}, "none [db RollingBack]"},
		"resumed":                               {"", 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Begun = true })}, "db Run false [db Paused]"},
		"rolled back":                           {api.EvacuationRollback, 0, entries("db", "web", "app"), map[string]Migration{"db": moved, "web": byUser, "app": held()}, "web Rollback false [db Moved, web Paused, app Paused]"},
		"rolled back before it began":           {api.EvacuationRollback, 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Mode, m.Held = api.ModeRun, false })}, "db Pause true [db Moving]"},
		"rolled back automatically, not paused": {api.EvacuationPause, 0, entries("db"), map[string]Migration{"db": automatic}, "none [db Moving]"},
		"recovering is left alone":              {api.EvacuationRollback, 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Mode, m.Begun, m.Held = api.ModeRecover, true, false })}, "none [db RollingBack]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Snapshot{Name: "all", Spec: api.EvacuationSpec{Mode: tc.mode, Migrations: tc.entries}, Migrations: tc.found}
			if tc.most > 0 {
				s.Spec.MaxActive = &tc.most
			}
			if got := said(Decide(s)); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func said(d Decision) string {
	states := make([]string, len(d.States))
	for i, each := range d.States {
		states[i] = each.Name + " " + string(each.State)
	}
	text := "none"
	if w := d.Write; w != nil {
		text = fmt.Sprintf("%s %s %t", w.Name, w.Mode, w.Held)
	}
	return fmt.Sprintf("%s [%s]", text, strings.Join(states, ", "))
}

// TestMessages: each state that does not continue has a message that fits into the status.
func TestMessages(t *testing.T) {
	long := of(func(m *Migration) { m.Stalled = strings.Repeat("ä", 600) })
	d := Decide(Snapshot{Name: "all", Spec: api.EvacuationSpec{Migrations: entries("a", "b:a", "c", "d:e", "e:d")}, Migrations: map[string]Migration{"a": long, "b": held(), "d": held(), "e": held()}})
	for i, want := range []string{"ä...", "it comes after a, which is Stalled", "there is no such Migration in this namespace", "it comes after e, which is Held", "it comes after d, which comes after it: correct spec.migrations[].after"} {
		if got := d.States[i].Message; !strings.HasSuffix(got, want) || len(got) > mostMessage {
			t.Errorf("%s: %q", d.States[i].Name, got)
		}
	}
}

// world is an evacuation whose Migrations move, stall and are steered at random.
type world struct {
	*rapid.T
	Snapshot
	// began lists the Migrations in the order in which they were begun.
	began []string
}

// TestEvacuation: whatever happens, no Migration begins before the Migrations ahead of it have moved, the limit
// holds, and the changes of users stay. If nothing stalls, all have moved in the end.
func TestEvacuation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{T: t, Snapshot: Snapshot{Name: "all", Migrations: map[string]Migration{}}}
		n := rapid.IntRange(1, 8).Draw(t, "Migrations")
		if rapid.Bool().Draw(t, "limited") {
			w.Spec.MaxActive = new(int32(rapid.IntRange(1, 3).Draw(t, "at once")))
		}
		waves := rapid.IntRange(0, 1).Draw(t, "waves")
		for i := range n {
			entry := api.EvacuatedMigration{Name: strconv.Itoa(i), Wave: int32(waves * i / 3)}
			for before := range i {
				if rapid.IntRange(0, 3).Draw(t, "after") == 0 {
					entry.After = append(entry.After, strconv.Itoa(before))
				}
			}
			w.Spec.Migrations = append(w.Spec.Migrations, entry)
			w.Migrations[entry.Name] = held()
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			name := strconv.Itoa(rapid.IntRange(0, n-1).Draw(t, "one"))
			w.happen(name, rapid.IntRange(0, 7).Draw(t, "what"))
			w.pass()
		}
		w.finish()
	})
}

// happen changes one Migration, or the mode of the Evacuation.
func (w *world) happen(name string, what int) {
	m := w.Migrations[name]
	active := m.Completed == "" && m.Mode == api.ModeRun
	switch what {
	case 0, 1:
		m.Begun = m.Begun || active && m.Stalled == ""
	case 2:
		if active && m.Begun && m.Stalled == "" {
			m.Completed = api.ReasonMoved
		}
	case 3:
		if active {
			m.Stalled = map[bool]string{true: "X: y"}[m.Stalled == ""]
		}
	case 4:
		if active {
			m.Mode, m.Held = api.ModePause, false
		}
	case 5:
		if m.Mode == api.ModePause && !m.Held {
			m.Mode = api.ModeRun
		}
	default:
		w.Spec.Mode = rapid.SampledFrom([]api.EvacuationMode{api.EvacuationRun, api.EvacuationPause}).Draw(w.T, "mode")
	}
	w.Migrations[name] = m
}

// pass does the writes of the Evacuation until there is none, and checks each.
func (w *world) pass() {
	for range 4 * len(w.Spec.Migrations) {
		d := Decide(w.Snapshot)
		if d.Write == nil {
			return
		}
		w.do(*d.Write)
	}
	w.Fatalf("the writes have no end: %s", said(Decide(w.Snapshot)))
}

func (w *world) do(write Write) {
	m := w.Migrations[write.Name]
	if m.Mode == write.Mode && m.Held == write.Held {
		w.Fatalf("%+v changes nothing", write)
	}
	if m.Mode == api.ModePause && !m.Held {
		w.Fatalf("%+v resumes what a user has paused", write)
	}
	if write.Mode == api.ModeRun && m.Mode == api.ModePause && !m.Begun {
		w.begins(write.Name)
	}
	m.Mode, m.Held = write.Mode, write.Held
	w.Migrations[write.Name] = m
}

func (w *world) begins(name string) {
	active := 0
	for _, m := range w.Migrations {
		if m.Mode == api.ModeRun && m.Completed == "" && m.Stalled == "" {
			active++
		}
	}
	if most := w.Spec.MaxActive; most != nil && active >= int(*most) {
		w.Fatalf("%s begins while %d are under way", name, active)
	}
	for _, each := range w.Spec.Migrations {
		for _, before := range w.before(each) {
			if each.Name == name && w.Migrations[before].Completed != api.ReasonMoved {
				w.Fatalf("%s begins before %s has moved", name, before)
			}
		}
	}
	w.began = append(w.began, name)
}

// finish lets all continue, and expects that all move.
func (w *world) finish() {
	w.Spec.Mode = api.EvacuationRun
	for range 2*len(w.Spec.Migrations) + 1 {
		for name, m := range w.Migrations {
			m.Stalled = ""
			if m.Mode == api.ModePause && !m.Held {
				m.Mode = api.ModeRun
			}
			w.Migrations[name] = m
		}
		w.pass()
		for name, m := range w.Migrations {
			if m.Mode == api.ModeRun {
				m.Begun, m.Completed = true, api.ReasonMoved
			}
			w.Migrations[name] = m
		}
	}
	d := Decide(w.Snapshot)
	if slices.ContainsFunc(d.States, func(s api.EvacuatedStatus) bool { return s.State != api.EvacuatedMoved }) || d.Write != nil {
		w.Fatalf("in the end: %s, begun %v", said(d), w.began)
	}
}
