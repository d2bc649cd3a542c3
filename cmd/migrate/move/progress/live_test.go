package progress

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/migration/view"
)

// inFlight returns a move of five ordinals: one has arrived, and one is in flight.
func inFlight() State {
	at := func(seconds int) metav1.MicroTime {
		return metav1.NewMicroTime(commandtest.Noon.Add(time.Duration(seconds) * time.Second))
	}
	m := movetest.Moving(2, 5)
	m.Status.Moved = 1
	m.Status.Baseline.StartTime = metav1.NewTime(commandtest.Noon)
	m.Status.Destination.Available, m.Status.Destination.MaxUnavailable = 1, new(int32(0))
	m.Status.Handoff = &api.Handoff{Ordinal: 3, Step: api.StepAwaitReadiness, StartTime: at(40), StepTime: at(50), Attempts: 1}
	m.Status.History = &api.History{
		Stopped:  &api.StoppedOrdinal{Ordinal: 3, StopTime: at(45)},
		Handoffs: []api.PastHandoff{{Ordinal: 4, Direction: api.Forward, StartTime: at(2), StopTime: at(5), EndTime: at(40)}},
	}
	m.Status.Conditions = movetest.Conditions(0, metav1.Condition{
		Type: api.ConditionProgressing, Status: metav1.ConditionTrue, Reason: api.ReasonPodNotReady, Message: "waiting until pod shop/web-3 in cluster west is Ready",
	})
	return Recorded(m, true, commandtest.Noon.Add(time.Minute))
}

// model returns a live display at a given time, and records the modes that its keys write.
func model(wrote *[]api.Mode, fails error) liveModel {
	return liveModel{
		panel: panel{Meter{terminal.Bar{Unicode: true}}}, width: 100, now: func() time.Time { return commandtest.Noon.Add(time.Minute) },
		orders: orders{name: "web", write: func(mode api.Mode) error {
			*wrote = append(*wrote, mode)
			return fails
		}},
	}
}

// send sends messages to a model, and the messages that its commands return, except ticks.
func send(t *testing.T, m liveModel, messages ...tea.Msg) liveModel {
	t.Helper()
	for _, message := range messages {
		next, command := m.Update(message)
		taken, ok := next.(liveModel)
		if !ok {
			t.Fatalf("the model is a %T", next)
		}
		m = taken
		if _, ticks := message.(tickMsg); command == nil || ticks {
			continue
		}
		if answer, steered := command().(steeredMsg); steered {
			m = send(t, m, answer)
		}
	}
	return m
}

// typed returns the keys of a text; a line break means Enter.
func typed(text string) (keys []tea.Msg) {
	for _, key := range text {
		message := tea.KeyPressMsg{Code: key, Text: string(key)}
		if key == '\n' {
			message = tea.KeyPressMsg{Code: tea.KeyEnter}
		}
		keys = append(keys, message)
	}
	return keys
}

// later returns the model one second later.
func later(m liveModel) liveModel {
	at := m.now().Add(time.Second)
	m.now = func() time.Time { return at }
	return m
}

// TestLiveView: the display in every state and at every width.
func TestLiveView(t *testing.T) {
	large := inFlight()
	large.Replicas, large.Sides[0].Replicas, large.Sides[0].Available, large.Sides[1].Start = 300, 250, 250, 250
	large.Sides[1].Replicas, large.Sides[1].Available, large.Handoff.Ordinal = 50, 49, 250
	soaks := inFlight()
	soaks.Handoff.Down.Ready = new(commandtest.Noon.Add(52 * time.Second))
	unknown := inFlight()
	unknown.Handoff, unknown.Hold, unknown.Sides[0].Available = nil, nil, 2
	var wrote []api.Mode
	var b strings.Builder
	for _, tc := range []struct {
		name     string
		messages []tea.Msg
	}{
		{"nothing is known", nil},
		{"in flight", []tea.Msg{inFlight()}},
		{"it is typed", append([]tea.Msg{inFlight()}, typed("paus")...)},
		{"it asks", append([]tea.Msg{inFlight()}, typed("rollback\n")...)},
		{"it is paused", append([]tea.Msg{inFlight()}, typed("pause\n")...)},
		{"the connection is lost", []tea.Msg{inFlight(), lostMsg{errors.New("dial tcp: connection refused")}}},
		{"it is back", []tea.Msg{inFlight(), lostMsg{errors.New("refused")}, lostMsg{}}},
		{"slim", []tea.Msg{inFlight(), tea.WindowSizeMsg{Width: 60}}},
		{"slim, and text was pasted", []tea.Msg{inFlight(), tea.WindowSizeMsg{Width: 60}, tea.PasteMsg{Content: "pause"}}},
		{"hopeless", []tea.Msg{inFlight(), tea.WindowSizeMsg{Width: 10}}},
		{"it is Ready", []tea.Msg{soaks}},
		{"not known which is down", []tea.Msg{unknown}},
		{"large", []tea.Msg{large}},
		{"large and slim", []tea.Msg{large, tea.WindowSizeMsg{Width: 50}}},
		{"over", []tea.Msg{inFlight(), overMsg{}}},
	} {
		m := send(t, model(&wrote, nil), tc.messages...)
		shown := m.View().Content
		fmt.Fprintf(&b, "# %s\n%s\n", tc.name, shown)
		for line := range strings.SplitSeq(shown, "\n") {
			if got := len([]rune(line)); got >= m.width {
				t.Errorf("%s: %d columns of %d: %q", tc.name, got, m.width, line)
			}
		}
	}
	golden.Compare(t, "live.txt", b.String())
}

// TestV5WhichAreDown: a status holds how many ordinals are available, but not which. If that is ambiguous, the mark
// shows it; a snapshot resolves it.
func TestV5WhichAreDown(t *testing.T) {
	p := Recorded(movetest.InFlight(), true, commandtest.Noon)
	shown := panel{Meter{}}
	if got := strings.TrimSpace(shown.ordinals(p, p.Sides[1], view.AtDestination, 80)); got != "0. 1. 2~ 3+" {
		t.Errorf("the destination is %q", got)
	}
	p.Sides[0].Available = 1
	if got := strings.TrimSpace(shown.ordinals(p, p.Sides[0], view.AtSource, 80)); got != "0? 1? 2. 3." {
		t.Errorf("of the source it is not known which is down: %q", got)
	}
	p.ready = map[int32]view.Readiness{0: view.Ready, 1: view.NotReady}
	if got := strings.TrimSpace(shown.ordinals(p, p.Sides[0], view.AtSource, 80)); got != "0+ 1~ 2. 3." {
		t.Errorf("a snapshot has shown which is down: %q", got)
	}
}

// TestV9OneLineAHandoff: a terminal shows writes and waits as lines only with Verbose. A wait that needs a user is
// always shown.
func TestV9OneLineAHandoff(t *testing.T) {
	events := []Event{
		{Kind: Written, short: "stop ordinal 1"},
		{Kind: Waiting, Message: "waiting for the pod"},
		{Kind: Sealed, Message: "data was copied"},
		{Kind: Waiting, Message: "the copy does not go on", Remedy: "look at it"},
		{Kind: OrdinalDone, Message: "ordinal 1 is available"},
	}
	for name, tc := range map[string]struct {
		format Format
		lines  int
	}{"usual": {Format{}, 2}, "verbose": {Format{Verbose: true}, 5}} {
		c := commandtest.New(nil)
		shown := c.OnTerminal(80)
		c.Interactive = func() bool { return false }
		d := NewDisplay(command.NewCommon(c.Environment), tc.format, Steering{})
		for _, e := range events {
			d.Show(e)
		}
		d.Close()
		if text := strings.TrimSpace(shown.Shown()); strings.Count(text, "\n")+1 != tc.lines || !strings.Contains(text, "ordinal 1 is available") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
