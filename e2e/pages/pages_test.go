package pages

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/manual"
)

// set holds commands that run one after the other in one scene.
type set struct {
	name  string
	world *world
	all   []placed
}

// root is the root folder of the repository.
const root = "../.."

// placed is a command with its expected result.
type placed struct {
	manual.Command
	how
}

// TestEveryCommandOfThePages runs each command that a page shows and checks that it ends as the page states.
func TestEveryCommandOfThePages(t *testing.T) {
	sets := gather(t)
	st := newStage(t)
	startManagers(t)
	for _, each := range sets {
		t.Run(each.name, func(t *testing.T) {
			t.Parallel()
			st.play(t, each)
		})
	}
}

// startManagers runs a manager in each cluster, for all namespaces.
func startManagers(t *testing.T) {
	t.Helper()
	harness.StartManager(t, "")
	kubeconfig, err := harness.West().UserKubeconfig(fixture.ManagerUser)
	if err != nil {
		t.Fatal(err)
	}
	harness.ManagerWith(t, kubeconfig, "", "west.log").Run()
}

// gather assigns the commands of all pages to sets. A command without a rule is an error.
func gather(t *testing.T) []*set {
	t.Helper()
	pages, err := manual.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	var sets []*set
	found := map[string]*set{}
	for _, page := range pages {
		commands, err := manual.Read(root, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commands {
			if _, elsewhere := manual.By(c); elsewhere {
				continue
			}
			r, ok := place(c)
			if !ok {
				t.Errorf("no rule says where this is run: %s", c)
				continue
			}
			name := r.world.setOf(c)
			if found[name] == nil {
				found[name] = &set{name: name, world: r.world}
				sets = append(sets, found[name])
			}
			found[name].all = append(found[name].all, placed{c, r.how})
		}
	}
	return sets
}

// setOf names the set of a command.
func (w *world) setOf(c manual.Command) string {
	switch {
	case w.alone:
		return w.name + "/" + strings.Join(strings.Fields(c.Text), " ") // a command that is shown twice runs once
	case w.once:
		return w.name
	}
	if folder := path.Dir(c.Page); strings.HasPrefix(folder, "docs/") {
		return w.name + "/" + path.Base(folder) // the pages of reasons are many and short
	}
	return w.name + "/" + path.Base(c.Page)
}

// play runs commands in a new scene.
func (st *stage) play(t *testing.T, all *set) {
	t.Helper()
	s := st.newScene(t)
	all.world.prepare(s)
	if last := all.world.last; last != nil {
		slices.SortStableFunc(all.all, func(a, b placed) int { return order(last.MatchString(a.Text)) - order(last.MatchString(b.Text)) })
	}
	seen := map[string]bool{}
	for _, c := range all.all {
		if seen[c.Text] {
			continue
		}
		seen[c.Text] = true
		s.perform(c)
	}
}

func order(last bool) int {
	if last {
		return 1
	}
	return 0
}

// perform runs a command and reports an error if it does not end as expected.
func (s *scene) perform(c placed) {
	s.t.Helper()
	text := s.own(filled(c.Text))
	if c.first != "" {
		s.must(c.first)
	}
	if c.ready != nil {
		c.ready(s)
	}
	if c.after != "" {
		defer s.must(c.after)
	}
	if c.says != nil {
		if out, err := s.until(text, c.says, func(match []string) error { return s.leadsWhereItShould(c, match) }); err != nil {
			s.t.Errorf("%s:%d: %v:\n%s\n%s", c.Page, c.Line, err, indented(text), out)
		}
		return
	}
	run := s.run
	if c.reply != "" {
		run = func(text string) (string, int) { return s.answer(text, c.reply) }
	}
	out, code := run(text)
	if code != c.exit {
		s.t.Errorf("%s:%d: exit code %d, want %d:\n%s\n%s", c.Page, c.Line, code, c.exit, indented(text), out)
	}
}

// leadsWhereItShould follows the output of a command that runs until it is interrupted.
func (s *scene) leadsWhereItShould(c placed, match []string) error {
	if c.leads == nil {
		return nil
	}
	return c.leads(s, match)
}
