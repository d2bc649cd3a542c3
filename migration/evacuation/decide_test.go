package evacuation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/printable"
)

// held returns a Migration as its author creates it.
func held() Migration { return Migration{Label: "all", Held: true, Mode: api.ModePause} }

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
	reversed := of(func(m *Migration) { m.Held, m.Returned, m.Mode, m.Begun = false, true, api.ModeRollback, true })
	back := of(func(m *Migration) {
		m.Held, m.Returned, m.Mode, m.Begun, m.Completed = false, true, api.ModeRollback, true, api.ReasonRolledBack
	})
	automatic := of(func(m *Migration) { m.Held, m.Mode, m.Begun, m.Fixed = false, api.ModeRun, true, true })
	for name, tc := range map[string]struct {
		mode    api.EvacuationMode
		most    int32
		entries []api.EvacuatedMigration
		found   map[string]Migration
		want    string
	}{
		"the first begins":                       {"", 0, entries("db", "web:db"), map[string]Migration{"db": held(), "web": held()}, "db Run false [db Waiting, web Waiting]"},
		"the second waits":                       {"", 0, entries("db", "web:db"), map[string]Migration{"db": moving, "web": held()}, "none [db Moving, web Waiting]"},
		"the second begins":                      {"", 0, entries("db", "web:db"), map[string]Migration{"db": moved, "web": held()}, "web Run false [db Moved, web Waiting]"},
		"a stalled one holds what comes after":   {"", 0, entries("db", "web:db", "app:web", "cache"), map[string]Migration{"db": stalled, "web": held(), "app": held(), "cache": held()}, "cache Run false [db Stalled, web Held, app Held, cache Waiting]"},
		"as many as may":                         {"", 1, entries("db", "cache"), map[string]Migration{"db": moving, "cache": held()}, "none [db Moving, cache Waiting]"},
		"a stalled one takes no place":           {"", 1, entries("db", "cache"), map[string]Migration{"db": stalled, "cache": held()}, "cache Run false [db Stalled, cache Waiting]"},
		"a missing one":                          {"", 0, entries("db", "web:db"), map[string]Migration{"web": held()}, "none [db Missing, web Held]"},
		"one without the label":                  {"", 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Label = "" })}, "none [db Missing]"},
		"a user has paused it":                   {"", 0, entries("db", "web:db"), map[string]Migration{"db": byUser, "web": held()}, "none [db Paused, web Held]"},
		"a user has resumed it":                  {"", 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Mode = api.ModeRun })}, "db Run false [db Moving]"},
		"a user rolls it back":                   {"", 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Mode, m.Begun, m.Held = api.ModeRollback, true, false })}, "none [db RollingBack]"},
		"it is back":                             {"", 0, entries("db", "web:db"), map[string]Migration{"db": of(func(m *Migration) { m.Mode, m.Completed = api.ModeRollback, api.ReasonRolledBack }), "web": held()}, "none [db Back, web Held]"},
		"a circle":                               {"", 0, entries("a:b", "b:a", "c:a", "d"), map[string]Migration{"a": held(), "b": held(), "c": held(), "d": held()}, "d Run false [a Held, b Held, c Held, d Waiting]"},
		"after itself":                           {"", 0, entries("a:a"), map[string]Migration{"a": held()}, "none [a Held]"},
		"a later wave waits":                     {"", 0, entries("a", "b@x", "c@xx"), map[string]Migration{"a": moving, "b": held(), "c": held()}, "none [a Moving, b Waiting, c Waiting]"},
		"a later wave begins":                    {"", 0, entries("a", "b@x", "c@xx"), map[string]Migration{"a": moved, "b": held(), "c": held()}, "b Run false [a Moved, b Waiting, c Waiting]"},
		"a wave against the order":               {"", 0, entries("a:b", "b@x"), map[string]Migration{"a": held(), "b": held()}, "none [a Held, b Held]"},
		"after one that is not listed":           {"", 0, entries("a:x"), map[string]Migration{"a": held(), "x": moved}, "none [a Held]"},
		"paused":                                 {api.EvacuationPause, 0, entries("db", "web"), map[string]Migration{"db": moving, "web": held()}, "db Pause true [db Moving, web Paused]"},
		"paused, and one is being rolled back":   {api.EvacuationPause, 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Mode, m.Begun, m.Held = api.ModeRollback, true, false })}, "none [db RollingBack]"},
		"resumed":                                {"", 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Begun = true })}, "db Run false [db Waiting]"},
		"rolled back":                            {api.EvacuationRollback, 0, entries("db", "web", "app"), map[string]Migration{"db": moved, "web": byUser, "app": held()}, "web Rollback true [db Moved, web Paused, app Paused]"},
		"rolled back before it began":            {api.EvacuationRollback, 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Mode, m.Held = api.ModeRun, false })}, "db Pause true [db Moving]"},
		"rolled back automatically, not paused":  {api.EvacuationPause, 0, entries("db"), map[string]Migration{"db": automatic}, "none [db Moving]"},
		"deleted after it has moved":             {"", 0, entries("gone", "web:gone"), map[string]Migration{"web": held()}, "web Run false [gone Moved, web Waiting]"},
		"created again after it has moved":       {"", 0, entries("gone", "web:gone"), map[string]Migration{"gone": held(), "web": held()}, "gone Run false [gone Waiting, web Waiting]"},
		"of another Evacuation":                  {"", 0, entries("db", "web:db", "app"), map[string]Migration{"db": of(func(m *Migration) { m.Label = "other" }), "web": held(), "app": held()}, "app Run false [db Missing, web Held, app Waiting]"},
		"it takes back one under way":            {"", 0, entries("db"), map[string]Migration{"db": reversed}, "db Run false [db RollingBack]"},
		"it takes one forward again":             {"", 0, entries("db", "web:db"), map[string]Migration{"db": back, "web": held()}, "db Run false [db Waiting, web Waiting]"},
		"one that is back waits for its turn":    {"", 1, entries("db", "web:cache", "cache"), map[string]Migration{"db": moving, "web": back, "cache": back}, "none [db Moving, web Waiting, cache Waiting]"},
		"one that begins again takes a place":    {"", 1, entries("db", "web"), map[string]Migration{"db": of(func(m *Migration) { m.Held, m.Mode, m.Completed = false, api.ModeRun, api.ReasonRolledBack }), "web": held()}, "none [db Moving, web Waiting]"},
		"back, and paused":                       {api.EvacuationPause, 0, entries("db"), map[string]Migration{"db": back}, "none [db Back]"},
		"a user pauses what it has rolled back":  {"", 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Held, m.Returned, m.Begun = false, true, true })}, "none [db Paused]"},
		"a user resumes what it has rolled back": {"", 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Held, m.Returned, m.Mode, m.Begun = false, true, api.ModeRun, true })}, "db Run false [db Moving]"},
		"one that stalled before it was paused":  {"", 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Stalled = "X: y" })}, "db Run false [db Waiting]"},
		"it holds one that stalled before":       {api.EvacuationRollback, 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Stalled = "X: y" })}, "none [db Paused]"},
		"one that stalls on its way back takes no place": {"", 1, entries("db", "web"), map[string]Migration{"db": held(), "web": of(func(m *Migration) {
			m.Held, m.Returned, m.Mode, m.Begun, m.Stalled = false, true, api.ModeRollback, true, "X: y"
		})}, "db Run false [db Waiting, web Stalled]"},
		"resumed, in the order":   {"", 1, entries("db", "web:db"), map[string]Migration{"db": of(func(m *Migration) { m.Begun = true }), "web": held()}, "db Run false [db Waiting, web Waiting]"},
		"a circle through waves":  {"", 0, entries("a:c", "b", "c@x", "d@x", "e@xx"), map[string]Migration{"a": held(), "b": moving, "c": held(), "d": held(), "e": held()}, "none [a Held, b Moving, c Held, d Held, e Held]"},
		"one that cannot be read": {"", 0, entries("db", "web:db", "cache"), map[string]Migration{"db": of(func(m *Migration) { m.Unreadable = "x" }), "web": held(), "cache": held()}, "cache Run false [db Stalled, web Held, cache Waiting]"},
		"back, and cannot be read": {"", 0, entries("db", "web:db"), map[string]Migration{"db": of(func(m *Migration) {
			m.Held, m.Returned, m.Mode, m.Completed, m.Unreadable = false, true, api.ModeRollback, api.ReasonRolledBack, "x"
		}), "web": held()}, "none [db Back, web Held]"},
		"recovering is left alone": {api.EvacuationRollback, 0, entries("db"), map[string]Migration{"db": of(func(m *Migration) { m.Mode, m.Begun, m.Held = api.ModeRecover, true, false })}, "none [db RollingBack]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Snapshot{Name: "all", Spec: api.EvacuationSpec{Mode: tc.mode, Migrations: tc.entries}, Migrations: tc.found, Moved: map[string]bool{"gone": true}}
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
	long := of(func(m *Migration) { m.Mode, m.Held, m.Stalled = api.ModeRun, false, strings.Repeat("ä", 600) })
	d := Decide(Snapshot{Name: "all", Spec: api.EvacuationSpec{Migrations: entries("a", "b:a", "c", "d:e", "e:d")}, Migrations: map[string]Migration{"a": long, "b": held(), "d": held(), "e": held()}})
	for i, want := range []string{"ä…", "it comes after a, which is Stalled", "there is no such Migration in this namespace", "it comes after e, which is Held", "it comes after d, which comes after it: correct spec.migrations[].after or .wave"} {
		if got := d.States[i].Message; !strings.HasSuffix(got, want) || printable.Encoded(got) > mostMessage {
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
	// silent is true while the cluster of all of them does not answer.
	silent bool
}

// TestEvacuation: whatever happens, no Migration begins before the Migrations ahead of it have moved, the limit
// holds, and the changes of users stay. In the end, all have moved that neither stall nor come after one that does.
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
			w.notice()
			w.pass()
		}
		w.finish()
	})
}

// before returns the names of the entries that must have moved before one: those that it names, and all of lower waves.
func (w *world) before(one api.EvacuatedMigration) []string {
	names := slices.Clone(one.After)
	for _, each := range w.Spec.Migrations {
		if each.Wave < one.Wave {
			names = append(names, each.Name)
		}
	}
	return names
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
		} else if m.Mode == api.ModePause && !m.Held {
			m.Mode = api.ModeRun
		}
	case 5:
		m = m.turned()
	case 7:
		w.silent = !w.silent
	default:
		w.Spec.Mode = rapid.SampledFrom([]api.EvacuationMode{api.EvacuationRun, api.EvacuationPause, api.EvacuationRollback}).Draw(w.T, "mode")
	}
	w.Migrations[name] = m
}

// notice lets those that run stall while the cluster does not answer, and continue when it does.
func (w *world) notice() {
	for name, m := range w.Migrations {
		switch stalls := w.silent && m.Mode == api.ModeRun && m.Completed == ""; {
		case stalls:
			m.Stalled, m.Unreachable = "ClusterUnreachable: x", true
		case m.Unreachable:
			m.Stalled, m.Unreachable = "", false
		}
		w.Migrations[name] = m
	}
}

// turned returns a Migration whose rollback has ended, or that begins again after that.
func (m Migration) turned() Migration {
	switch {
	case m.Completed == "" && m.Mode == api.ModeRollback:
		m.Completed, m.Begun, m.Stalled = api.ReasonRolledBack, false, ""
	case m.Completed == api.ReasonRolledBack && m.Mode == api.ModeRun:
		m.Completed = ""
	}
	return m
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
	if m.Mode == write.Mode && (m.Held || m.Returned) == write.Held {
		w.Fatalf("%+v changes nothing", write)
	}
	if m.Mode == api.ModePause && !m.Held && w.Spec.Mode != api.EvacuationRollback {
		w.Fatalf("%+v resumes what a user has paused", write)
	}
	if write.Mode == api.ModeRun && m.Mode != api.ModeRun && !m.Begun {
		w.begins(write.Name)
	}
	m.Mode, m.Held, m.Returned = write.Mode, write.Held && write.Mode == api.ModePause, write.Held && write.Mode == api.ModeRollback
	w.Migrations[write.Name] = m
}

func (w *world) begins(name string) {
	active := 0
	for _, m := range w.Migrations {
		under := m.Mode == api.ModeRun && m.Completed != api.ReasonMoved || m.Mode == api.ModeRollback && m.Completed == ""
		if under && (m.Stalled == "" || m.Unreachable) {
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

// finish lets those continue that do not stall, and expects that each that comes after none that stalls has moved.
func (w *world) finish() {
	w.Spec.Mode, w.silent = api.EvacuationRun, false
	w.notice()
	stalls := map[string]bool{}
	for range 3*len(w.Spec.Migrations) + 1 {
		for name, m := range w.Migrations {
			stalls[name] = m.Completed == "" && m.Stalled != ""
			if m.Mode == api.ModePause && !m.Held || m.Mode == api.ModeRollback && !m.Returned {
				m.Mode = api.ModeRun
			}
			w.Migrations[name] = m
		}
		w.pass()
		for name, m := range w.Migrations {
			switch {
			case m.Mode != api.ModeRun || m.Stalled != "":
			case m.Completed == api.ReasonRolledBack:
				m.Completed = ""
			default:
				m.Begun, m.Completed = true, api.ReasonMoved
			}
			w.Migrations[name] = m
		}
	}
	d := Decide(w.Snapshot)
	for _, s := range d.States {
		if free := !w.blocked(s.Name, stalls); free != (s.State == api.EvacuatedMoved) || d.Write != nil {
			w.Fatalf("in the end: %s, begun %v; of these stall %v", said(d), w.began, stalls)
		}
	}
}

// blocked reports whether a Migration stalls, or comes after one that does.
func (w *world) blocked(name string, stalls map[string]bool) bool {
	if stalls[name] {
		return true
	}
	at := slices.IndexFunc(w.Spec.Migrations, func(e api.EvacuatedMigration) bool { return e.Name == name })
	return slices.ContainsFunc(w.before(w.Spec.Migrations[at]), func(before string) bool { return w.blocked(before, stalls) })
}

// TestHundreds: the states of 1,000 Migrations with the longest names and messages fit into 256 KiB, whatever the messages
// hold, and each message that is cut still names a Migration.
func TestHundreds(t *testing.T) {
	const most = 1000
	name := func(i int) string { return fmt.Sprintf("%063d", i) }
	for what, tc := range map[string]struct {
		stalled, most string
		all           int
	}{
		"all stall, with letters of six bytes": {strings.Repeat("<", 600), "<…", most},
		"all stall, with escapes":              {strings.Repeat("\x1b", 600), "…", most},
		"few of them stall":                    {strings.Repeat("a", 600), strings.Repeat("a", mostMessage-len(printable.Cut)) + "…", 10},
	} {
		t.Run(what, func(t *testing.T) {
			s := Snapshot{Name: "all", Migrations: map[string]Migration{}}
			for i := range most {
				m := held()
				if i < tc.all {
					m.Mode, m.Held, m.Stalled = api.ModeRun, false, tc.stalled
				}
				s.Spec.Migrations = append(s.Spec.Migrations, api.EvacuatedMigration{Name: name(i)})
				s.Migrations[name(i)] = m
			}
			d := Decide(s)
			data, err := json.Marshal(d.States)
			if err != nil || len(data) > 256<<10 || !strings.HasSuffix(d.States[0].Message, tc.most) {
				t.Errorf("%d bytes (%v), the first message is %q", len(data), err, d.States[0].Message)
			}
		})
	}
}

// TestHundredsHeld: the reason of each of 999 that are held still names the one before it.
func TestHundredsHeld(t *testing.T) {
	s := Snapshot{Name: "all", Migrations: map[string]Migration{}}
	first := strings.Repeat("x", 63)
	s.Spec.Migrations = []api.EvacuatedMigration{{Name: first}}
	for i := range 999 {
		s.Spec.Migrations = append(s.Spec.Migrations, api.EvacuatedMigration{Name: strconv.Itoa(i), After: []string{first}})
		s.Migrations[strconv.Itoa(i)] = held()
	}
	d := Decide(s)
	if want := "it comes after " + first + ", which is "; !strings.HasPrefix(d.States[999].Message, want) {
		t.Errorf("got %q, want %q", d.States[999].Message, want)
	}
}
