package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestScreen: lines above, one bar below, and nothing but the lines at the end.
func TestScreen(t *testing.T) {
	c := newConsole(nil)
	shown := c.onTerminal(100)
	s := newScreen(c.environment, painter{})
	events, n := aMove().tell()
	for i, e := range events {
		s.show(e)
		if i == 6 {
			s.update(progress{start: noon, moved: 0, total: 2, ordinal: new(int32(1)), step: api.StepAwaitReadiness, since: noon})
			golden(t, "screen.txt", shown.shown()+"\n")
		}
	}
	s.update(n.progress)
	s.close()
	var want []string
	for _, e := range events {
		want = append(want, e.lines(painter{}, 100)...)
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), shown.shown()); diff != "" {
		t.Errorf("what is left at the end (-want +got):\n%s", diff)
	}
}

// TestScreenIsCalm: the bar is not drawn more often than it may be, nor when it
// looks as before.
func TestScreenIsCalm(t *testing.T) {
	out, clock := &terminal{}, clocktesting.NewFakeClock(noon)
	s := &screen{out: out, clock: clock, width: func() int { return 80 }}
	p := progress{start: noon, total: 1000}
	for moved := range int32(100) {
		p.moved = moved
		s.update(p)
	}
	if got := out.count(); got != 1 {
		t.Errorf("100 updates at once: %d drawings", got)
	}
	clock.Step(redrawEvery)
	for range 100 {
		clock.Step(redrawEvery / 100)
		s.update(p)
	}
	if got := out.count(); got != 2 {
		t.Errorf("100 equal updates: %d drawings", got)
	}
}

// TestScreenTicks: the seconds of a wait go on while nothing happens.
func TestScreenTicks(t *testing.T) {
	c := newConsole(nil)
	shown := c.onTerminal(80)
	s := newScreen(c.environment, painter{})
	defer s.close()
	s.update(progress{start: noon, total: 1, hold: &migration.Hold{Message: "waiting"}, holdSince: noon})
	await(t, func() bool {
		if c.clock.Since(noon) < 7*time.Second {
			c.clock.Step(time.Second)
		}
		return strings.Contains(shown.shown(), "7s · waiting")
	}, func() string { return "the bar stands still:\n" + shown.shown() })
}

// TestScreenOfManyWriters is for the race detector.
func TestScreenOfManyWriters(t *testing.T) {
	c := newConsole(nil)
	shown := c.onTerminal(80)
	s := newScreen(c.environment, painter{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range int32(50) {
				c.clock.Step(time.Millisecond)
				s.update(progress{start: noon, moved: i, total: 50})
				s.show(event{Kind: eventWaiting, Message: "line"})
			}
		})
	}
	group.Wait()
	s.close()
	if got := strings.Count(shown.shown(), "line"); got != 200 {
		t.Errorf("%d lines of 200 were shown", got)
	}
}

func TestBar(t *testing.T) {
	at := noon.Add(90 * time.Second)
	waiting := &migration.Hold{Reason: api.ReasonPodNotReady, Message: "waiting until pod shop/web-1 in cluster west is Ready"}
	stalled := &migration.Hold{Reason: api.ReasonPodNotReady, Message: "ordinal 1 has been at AwaitReadiness for longer than 1m0s", Stalled: true}
	paused := &migration.Hold{Reason: api.ReasonPaused, Message: "mode is Pause; ordinal 1 is next"}
	half := progress{start: noon, moved: 2, total: 4, ordinal: new(int32(1)), step: api.StepAwaitReadiness, since: at.Add(-4 * time.Second), mean: 20 * time.Second}
	with := func(change func(*progress)) progress {
		p := half
		change(&p)
		return p
	}
	var b bytes.Buffer
	for _, tc := range []struct {
		name    string
		p       progress
		width   int
		unicode bool
	}{
		{"before anything", progress{start: at}, 100, true},
		{"preparing", progress{start: at.Add(-time.Second), total: 4}, 100, true},
		{"on its way", half, 100, true},
		{"waiting", with(func(p *progress) { p.hold, p.holdSince = waiting, at.Add(-3*time.Second) }), 100, true},
		{"stalled", with(func(p *progress) { p.hold, p.holdSince = stalled, at.Add(-65*time.Second) }), 100, true},
		{"paused", with(func(p *progress) { p.ordinal, p.hold, p.holdSince = nil, paused, at.Add(-5*time.Second) }), 100, true},
		{"on its way back", with(func(p *progress) { p.back = true }), 100, true},
		{"restoring", with(func(p *progress) { p.ordinal, p.moved = nil, 4 }), 100, true},
		{"restoring at the source", with(func(p *progress) { p.ordinal, p.moved, p.back = nil, 0, true }), 100, true},
		{"ASCII", with(func(p *progress) { p.hold, p.holdSince = waiting, at }), 100, false},
		{"slim", with(func(p *progress) { p.hold, p.holdSince = waiting, at }), 60, true},
		{"slimmer", with(func(p *progress) { p.hold, p.holdSince = waiting, at }), 30, true},
		{"hopeless", half, 10, true},
	} {
		lines := bar{unicode: tc.unicode}.lines(tc.p, at, tc.width)
		fmt.Fprintf(&b, "# %s\n%s\n", tc.name, strings.Join(lines, "\n"))
		for _, line := range lines {
			if got := len([]rune(line)); got >= tc.width {
				t.Errorf("%s: %d columns of %d: %q", tc.name, got, tc.width, line)
			}
		}
	}
	golden(t, "bar.txt", b.String())
}
