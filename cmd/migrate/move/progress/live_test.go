package progress

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// onItsWay is a move of five ordinals: one has arrived, and one is on its way.
func onItsWay() State {
	return State{
		start: commandtest.Noon, Moved: 1, Total: 5, ordinal: new(int32(3)), step: api.StepAwaitReadiness, since: commandtest.Noon.Add(40 * time.Second),
		hold: &plan.Hold{Reason: api.ReasonPodNotReady, Message: "waiting until pod shop/web-3 in cluster west is Ready"}, holdSince: commandtest.Noon.Add(50 * time.Second),
		mean: 38 * time.Second, replicas: 5, budget: 1,
		sides: [2]side{
			{name: "east/shop/web", replicas: 3, available: 3, maxUnavailable: new(int32(0)), down: map[int32]bool{}},
			{name: "west/shop/web", start: 3, replicas: 2, available: 1, maxUnavailable: new(int32(0)), down: map[int32]bool{3: true}},
		},
	}
}

// model is what a live display shows at a time, with the modes that its keys have written.
func model(wrote *[]api.Mode, fails error) liveModel {
	return liveModel{
		panel: panel{Meter{terminal.Bar{Unicode: true}}}, width: 100, now: func() time.Time { return commandtest.Noon.Add(time.Minute) },
		orders: orders{name: "web", write: func(mode api.Mode) error {
			*wrote = append(*wrote, mode)
			return fails
		}},
	}
}

// send has a model take messages, and what its commands come to; ticks are left out.
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

// typed are the keys of a text; a line break is Enter.
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

// later is one second after what a model shows.
func later(m liveModel) liveModel {
	at := m.now().Add(time.Second)
	m.now = func() time.Time { return at }
	return m
}

// TestLiveView: what is shown, in every state and of every width.
func TestLiveView(t *testing.T) {
	large := onItsWay()
	large.replicas, large.ordinal, large.sides[0].replicas, large.sides[1].start = 300, new(int32(250)), 250, 250
	large.sides[1].replicas, large.sides[1].down = 50, map[int32]bool{250: true}
	var wrote []api.Mode
	var b strings.Builder
	for _, tc := range []struct {
		name     string
		messages []tea.Msg
	}{
		{"nothing is known", nil},
		{"on its way", []tea.Msg{onItsWay()}},
		{"it is typed", append([]tea.Msg{onItsWay()}, typed("paus")...)},
		{"it asks", append([]tea.Msg{onItsWay()}, typed("rollback\n")...)},
		{"it is paused", append([]tea.Msg{onItsWay()}, typed("pause\n")...)},
		{"the connection is lost", []tea.Msg{onItsWay(), lostMsg{errors.New("dial tcp: connection refused")}}},
		{"it is back", []tea.Msg{onItsWay(), lostMsg{errors.New("refused")}, lostMsg{}}},
		{"slim", []tea.Msg{onItsWay(), tea.WindowSizeMsg{Width: 60}}},
		{"slim, and text was pasted", []tea.Msg{onItsWay(), tea.WindowSizeMsg{Width: 60}, tea.PasteMsg{Content: "pause"}}},
		{"hopeless", []tea.Msg{onItsWay(), tea.WindowSizeMsg{Width: 10}}},
		{"large", []tea.Msg{large}},
		{"large and slim", []tea.Msg{large, tea.WindowSizeMsg{Width: 50}}},
		{"over", []tea.Msg{onItsWay(), overMsg{}}},
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

// TestRecorded: what a status tells is shown as a run shows it; of an ordinal on its way it is not known whether it
// is available, so it is drawn as one that is not.
func TestRecorded(t *testing.T) {
	p := Recorded(movetest.InFlight())
	if p.Moved != 1 || p.Total != 4 || p.Reason() != api.ReasonPodNotReady || !p.holdSince.Equal(commandtest.Noon.Add(-12*time.Second)) {
		t.Errorf("%+v", p)
	}
	if p.sides[1].name != "west/shop/web" || p.sides[1].start != 2 || p.sides[1].down != nil {
		t.Errorf("the destination is %+v", p.sides[1])
	}
	if cell := (panel{Meter{}}).cell(p, p.sides[1], 2); cell != "2~" {
		t.Errorf("ordinal 2 is drawn as %s", cell)
	}
}

// TestV9OneLineAHandoff: a terminal shows no write and no wait as a line of its own, unless they are asked for; a wait that needs a person
// stays.
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
