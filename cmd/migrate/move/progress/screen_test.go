package progress

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/migration/view"
)

// TestScreen: lines above, one bar below, and only the lines at the end.
func TestScreen(t *testing.T) {
	c := commandtest.New(nil)
	shown := c.OnTerminal(100)
	s := newScreen(c.Environment, terminal.Painter{})
	events, n := aMove().events()
	for i, e := range events {
		s.Show(e)
		if i == 6 {
			s.Update(State{Row: view.Row{Began: commandtest.Noon, Total: 2, Handoff: &view.Handoff{Ordinal: 1, Step: api.StepAwaitReadiness, StartTime: commandtest.Noon}}})
			golden.Compare(t, "screen.txt", shown.Shown()+"\n")
		}
	}
	s.Update(n.State)
	s.Close()
	var want []string
	for _, e := range events {
		want = append(want, e.lines(terminal.Painter{}, 100)...)
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), shown.Shown()); diff != "" {
		t.Errorf("what is left at the end (-want +got):\n%s", diff)
	}
}

// TestScreenIsCalm: the bar is not drawn more often than redrawEvery, nor without a change.
func TestScreenIsCalm(t *testing.T) {
	out, clock := &commandtest.Terminal{}, clocktesting.NewFakeClock(commandtest.Noon)
	s := &screen{area: terminal.Area{Out: out}, clock: clock, width: func() int { return 80 }}
	p := State{Row: view.Row{Began: commandtest.Noon, Total: 1000}}
	for moved := range int32(100) {
		p.Moved = moved
		s.Update(p)
	}
	if got := out.Count(); got != 1 {
		t.Errorf("100 updates at once: %d drawings", got)
	}
	clock.Step(redrawEvery)
	for range 100 {
		clock.Step(redrawEvery / 100)
		s.Update(p)
	}
	if got := out.Count(); got != 2 {
		t.Errorf("100 equal updates: %d drawings", got)
	}
}

// TestScreenTicks: the seconds of a wait advance without events.
func TestScreenTicks(t *testing.T) {
	c := commandtest.New(nil)
	shown := c.OnTerminal(80)
	s := newScreen(c.Environment, terminal.Painter{})
	defer s.Close()
	s.Update(State{Row: view.Row{Began: commandtest.Noon, Total: 1, Hold: &view.Hold{Message: "waiting", Since: commandtest.Noon}}})
	commandtest.Await(t, func() bool {
		if c.Clock.Since(commandtest.Noon) < 7*time.Second {
			c.Clock.Step(time.Second)
		}
		return strings.Contains(shown.Shown(), "waiting, for 7s")
	}, func() string { return "the bar stands still:\n" + shown.Shown() })
}

// TestScreenOfManyWriters is for the race detector.
func TestScreenOfManyWriters(t *testing.T) {
	c := commandtest.New(nil)
	shown := c.OnTerminal(80)
	s := newScreen(c.Environment, terminal.Painter{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range int32(50) {
				c.Clock.Step(time.Millisecond)
				s.Update(State{Row: view.Row{Began: commandtest.Noon, Moved: i, Total: 50}})
				s.Show(Event{Kind: Waiting, Message: "line"})
			}
		})
	}
	group.Wait()
	s.Close()
	if got := strings.Count(shown.Shown(), "line"); got != 200 {
		t.Errorf("%d lines of 200 were shown", got)
	}
}

func TestBar(t *testing.T) {
	at := commandtest.Noon.Add(90 * time.Second)
	since := func(ago time.Duration, reason, message string, stalled bool) *view.Hold {
		return &view.Hold{Reason: reason, Message: message, Stalled: stalled, Since: at.Add(-ago)}
	}
	waiting := func(ago time.Duration) *view.Hold {
		return since(ago, api.ReasonPodNotReady, "waiting until pod shop/web-1 in cluster west is Ready", false)
	}
	half := State{Row: view.Row{Began: commandtest.Noon, Moved: 2, Total: 4, Handoff: &view.Handoff{Ordinal: 1, Step: api.StepAwaitReadiness, StartTime: at.Add(-4 * time.Second)}}}
	with := func(change func(*State)) State {
		p := half
		change(&p)
		return p
	}
	var b bytes.Buffer
	for _, tc := range []struct {
		name    string
		p       State
		width   int
		unicode bool
	}{
		{"before anything", State{Row: view.Row{Began: at}}, 100, true},
		{"preparing", State{Row: view.Row{Began: at.Add(-time.Second), Total: 4}}, 100, true},
		{"in flight", half, 100, true},
		{"waiting", with(func(p *State) { p.Hold = waiting(3 * time.Second) }), 100, true},
		{"stalled", with(func(p *State) {
			p.Hold = since(65*time.Second, api.ReasonPodNotReady, "ordinal 1 has been at AwaitReadiness for longer than 1m0s", true)
		}), 100, true},
		{"paused", with(func(p *State) {
			p.Handoff, p.Hold = nil, since(5*time.Second, api.ReasonPaused, "mode is Pause; ordinal 1 is next", false)
		}), 100, true},
		{"in flight, back", with(func(p *State) { p.Back = true }), 100, true},
		{"restoring", with(func(p *State) { p.Handoff, p.Moved = nil, 4 }), 100, true},
		{"restoring at the source", with(func(p *State) { p.Handoff, p.Moved, p.Back = nil, 0, true }), 100, true},
		{"ASCII", with(func(p *State) { p.Hold = waiting(0) }), 100, false},
		{"slim", with(func(p *State) { p.Hold = waiting(0) }), 60, true},
		{"slimmer", with(func(p *State) { p.Hold = waiting(0) }), 30, true},
		{"hopeless", half, 10, true},
	} {
		lines := Meter{terminal.Bar{Unicode: tc.unicode}}.lines(tc.p, at, tc.width)
		fmt.Fprintf(&b, "# %s\n%s\n", tc.name, strings.Join(lines, "\n"))
		for _, line := range lines {
			if got := len([]rune(line)); got >= tc.width {
				t.Errorf("%s: %d columns of %d: %q", tc.name, got, tc.width, line)
			}
		}
	}
	golden.Compare(t, "bar.txt", b.String())
}
